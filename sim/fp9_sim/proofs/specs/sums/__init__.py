"""Specifications of dot products, as lemmas about products, alignment, addition and rounding."""
