"""Operands that distinguish candidate accumulators, and GPU programs that run them."""
