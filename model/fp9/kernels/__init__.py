"""Numba kernels: compiled loops over arrays of numbers, codes and tables."""

from fp9.kernels.compiled import kernel

__all__ = ["kernel"]
