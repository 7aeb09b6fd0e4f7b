"""Comparison of other implementations with the model: their accumulator, and the causes of different results.

`fp9_compare.identify` finds the accumulator of a black box or of measured rows. `fp9_compare.diagnosis` explains
why the results of a unit or a library differ from its specification. `fp9_compare.measured_rows` reads rows
measured on GPUs.
"""
