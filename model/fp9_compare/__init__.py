"""Comparison of other implementations with fp9: their accumulators and their wrong results.

The package `identify` finds the accumulator model that reproduces the results of an unknown implementation. The package
`diagnosis` explains why the results of hardware or of a software library differ from the specification.
"""
