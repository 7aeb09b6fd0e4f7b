"""Strategies for matrix products: one file each, and one table of them in order of preference."""
