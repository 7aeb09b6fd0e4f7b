"""Compiled loops: Numba and nothing else; numbers and tables in, numbers out."""

from fp9.kernels.compiled import kernel

__all__ = ["kernel"]
