"""Operands that distinguish candidate accumulators, and GPU programs that compute their sums."""
