"""The cast unit: a wide format's numbers to 8-bit codes."""
