"""Operands that distinguish candidate accumulators, and GPU programs that use the operands."""
