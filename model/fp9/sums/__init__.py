"""Compute dot products and matrix products of arrays of codes."""
