"""Decode codes to fields: the 8-bit operands of every unit, and the addend.

`decode` turns an 8-bit code of any offered format into sign, exponent and significand, with `hif8` for the prefix
code. `addend` splits a 16- or 32-bit code into its fields. `unit` is the decoder as a unit.
"""
