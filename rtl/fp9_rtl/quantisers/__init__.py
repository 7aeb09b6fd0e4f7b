"""Quantise blocks of numbers to elements with a shared scale, in hardware.

The datapath finds the largest magnitude of a block, computes the block's scale, and casts each number.
"""
