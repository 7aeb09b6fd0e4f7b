"""Dual-format FPU: 16-bit and 8-bit products in one multiplier (`steps`), and its own rounder (`round`)."""
