"""Comparison of other implementations with fp9: their accumulators and their wrong results.

`identify` finds the accumulator model that reproduces the results of a black box. `diagnosis` explains why results of
hardware or of a library differ from the specification.
"""
