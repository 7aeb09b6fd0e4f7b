"""Decode the codes of operands and addends to their fields.

`decode` converts an 8-bit code of any supported format to sign, exponent and significand. `hif8` decodes and encodes
the prefix code of HiFloat8. `addend` splits a 16- or 32-bit code into its fields. `unit` contains the datapath of the
decoder unit.
"""
