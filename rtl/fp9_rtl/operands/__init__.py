"""Decode the codes of operands and addends to their fields.

`decode` turns an 8-bit code of any supported format into sign, exponent and significand. `hif8` decodes the
prefix code of HiFloat8. `addend` splits a 16- or 32-bit code into its fields. `unit` is the decoder as a unit.
"""
