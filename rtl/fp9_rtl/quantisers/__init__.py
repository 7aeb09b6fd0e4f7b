"""Blocks of numbers to elements that share a scale: the largest magnitude, the scale by its rule, a cast for each."""
