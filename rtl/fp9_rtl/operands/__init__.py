"""Decode the codes of operands and addends to sign, exponent and significand."""
