"""Operands that tell candidate accumulators apart, and GPU programs that run them."""
