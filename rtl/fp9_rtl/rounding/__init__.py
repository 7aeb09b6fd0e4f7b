"""All rounding in hardware."""
