"""Corner-case stimulus for sums. Each module generates one corner case."""
