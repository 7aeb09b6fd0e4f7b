"""Vectors in, verdict out."""
