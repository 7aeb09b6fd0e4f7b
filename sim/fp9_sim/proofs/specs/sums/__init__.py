"""Specifications of units that add products, by parts: products, window, sum, rounding."""
