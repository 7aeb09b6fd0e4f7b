"""Codes to fields: the 8-bit operands of every unit, and the addend.

An 8-bit code of any offered format becomes sign, exponent and significand (`decode`, with `hif8` for the prefix code);
a 16- or 32-bit one is taken apart as it stands (`addend`). `unit` is the decoder as a unit of its own.
"""
