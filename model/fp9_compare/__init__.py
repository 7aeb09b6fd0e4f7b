"""Other implementations compared with the model: which accumulator they are, and how their results differ.

`fp9_compare.identify` finds the accumulator of a black box or of measured rows. `fp9_compare.diagnosis` explains why a
unit or a library gives other results than its specification. `fp9_compare.measured_rows` reads rows measured on GPUs.
"""
