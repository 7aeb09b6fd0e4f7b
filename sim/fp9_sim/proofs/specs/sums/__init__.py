"""Specifications of dot products: lemmas about products, alignment, addition and rounding."""
