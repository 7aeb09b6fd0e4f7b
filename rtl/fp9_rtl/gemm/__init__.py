"""Systolic tiles of units, and what they cost."""

from fp9_rtl.gemm.tile import GemmTile, gemm_verilog

__all__ = ["GemmTile", "gemm_verilog"]
