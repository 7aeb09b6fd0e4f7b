"""Numerical studies: accumulator errors, tables of papers, pictures, and exhaustive casts."""
