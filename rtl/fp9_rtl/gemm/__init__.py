"""Systolic arrays for matrix products (`tile`), and their area (`area`)."""

from fp9_rtl.gemm.tile import GemmTile, gemm_verilog

__all__ = ["GemmTile", "gemm_verilog"]
