"""Numba kernels of matrix products in register tiles."""
