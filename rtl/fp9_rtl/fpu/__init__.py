"""Dual-format FPU and multi-format FPU.

The dual-format FPU forms 16-bit and 8-bit products in one multiplier (`steps`). It has its own rounder (`round`).
"""
