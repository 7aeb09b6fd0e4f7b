"""The dual-format FPU: 16-bit and 8-bit products through one multiplier (`steps`), and its own rounder (`round`)."""
