"""The dual-format FPU: products of 8-bit operands and multiply-adds of wide ones in one datapath."""
