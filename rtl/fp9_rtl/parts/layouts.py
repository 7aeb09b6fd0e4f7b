"""Layouts of the fields that datapath stages pass to each other: unpacked numbers and flags.

Special flags override the other fields: `nan` has the highest priority, then `inf`, then `zero`.
"""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import signed
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9.formats.rounding import FLAG_BITS, Flags
from fp9.units import OPERAND_SIGNIFICAND_BITS, Port

PRODUCT_SIGNIFICAND_BITS = 2 * OPERAND_SIGNIFICAND_BITS
"""Significand width of an exact product of two 8-bit floating-point operands."""


SPECIAL = {"inf": 1, "nan": 1, "invalid": 1}
"""Flags of a sum. If a flag is set, the number in the other fields has no meaning."""


def operand_layout(exponents: range, significand_bits: int = OPERAND_SIGNIFICAND_BITS) -> data.StructLayout:
    """Return the layout of an unpacked operand: significand, exponent, sign, and flags for zero, infinity and NaN."""
    # The value is (-1)^sign * significand * 2^exponent. The most significant bit of the significand has weight 1.
    return data.StructLayout(
        {"significand": significand_bits, "exponent": exponents, "sign": 1, "zero": 1, "inf": 1, "nan": 1}
    )


def product_layout(exponents: range, significand_bits: int = PRODUCT_SIGNIFICAND_BITS) -> data.StructLayout:
    """Return the layout of an unpacked product, with the exponent of the significand's most significant bit."""
    # The flag `invalid` marks 0 x infinity, and the flag `nan` marks a NaN operand.
    return data.StructLayout(
        {
            "significand": significand_bits,
            "exponent": exponents,
            "sign": 1,
            "zero": 1,
            "inf": 1,
            "nan": 1,
            "invalid": 1,
        }
    )


def fields_layout(fmt: FixedFormat) -> data.StructLayout:
    return data.StructLayout({"fraction": fmt.fraction_bits, "exponent": fmt.exponent_bits, "sign": 1})


def addend_layout(fmt: FixedFormat) -> data.StructLayout:
    # The biased exponent of a subnormal addend is 1. The significand includes the leading bit.
    return data.StructLayout(
        {
            "significand": fmt.precision,
            "exponent": fmt.exponent_bits,
            "sign": 1,
            "zero": 1,
            "inf": 1,
            "nan": 1,
        }
    )


def flags_layout() -> data.StructLayout:
    names = {flag.bit_length() - 1: str(flag.name).lower() for flag in Flags}
    return data.StructLayout({names[bit]: 1 for bit in range(FLAG_BITS)})


def ports_layout(ports: Iterable[Port]) -> data.StructLayout:
    return data.StructLayout({port.name: signed(port.width) if port.signed else port.width for port in ports})
