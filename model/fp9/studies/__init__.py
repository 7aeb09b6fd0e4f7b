"""Numerical studies: errors of accumulators, tables of papers, pictures, and all 2^32 inputs of casts."""
