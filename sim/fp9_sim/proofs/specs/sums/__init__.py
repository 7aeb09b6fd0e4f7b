"""Specifications of dot products in parts: products, alignment, addition, rounding."""
