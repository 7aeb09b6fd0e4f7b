"""Products and their sums, exact or through a window."""
