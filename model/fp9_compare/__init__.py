"""Comparison of other implementations with fp9: their accumulators and their wrong results.

`fp9_compare.identify` finds the accumulator model that reproduces the results of a black box or measured results.
`fp9_compare.diagnosis` explains why the results of a hardware unit or a library differ from the specification.
`fp9_compare.measured_rows` reads dot products that were measured on GPUs.
"""
