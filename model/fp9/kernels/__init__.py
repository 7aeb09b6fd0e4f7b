"""Numba kernels: compiled loops over arrays."""

from fp9.kernels.compiled import kernel

__all__ = ["kernel"]
