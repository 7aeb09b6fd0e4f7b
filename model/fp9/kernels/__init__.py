"""Compiled loops: Numba and nothing else; numbers and tables in, numbers out."""
