"""Numba kernels for matrix products in register tiles."""
