"""Fill templates of generated Verilog and C++, declare ports, and describe formats for generated decoders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fp9.formats import FixedFormat, Kind
from fp9.units import Port

TABLED_BITS = 8
"""Largest code width for which a format without fixed fields gets a lookup table."""


def filled(template: str, words: Mapping[str, object]) -> str:
    """Return the template with each @{word} replaced by its value."""
    return re.sub(r"@\{(\w+)\}", lambda found: str(words[found[1]]), template)


def width(port: Port) -> str:
    """Return the bit range of a port's Verilog declaration."""
    return f"[{port.width - 1}:0] " if port.width > 1 else ""


@dataclass(frozen=True)
class Fields:
    """Parameters that a test bench needs to decode a format with fixed exponent and fraction fields.

    The fields `largest` and `infinity` are magnitudes, which are codes without sign bit and padding bits.
    """

    padding: int
    width: int
    fraction_bits: int
    bias: int
    subnormals: bool
    largest: int
    infinity: int | None
    nan_zero: bool

    @staticmethod
    def of(fmt: FixedFormat) -> Fields:
        infinity = fmt.inf_code(False)
        return Fields(
            fmt.padding,
            fmt.bits - 1 - fmt.padding,
            fmt.fraction_bits,
            fmt.bias,
            fmt.subnormals,
            fmt.max_code >> fmt.padding,
            None if infinity is None else infinity >> fmt.padding,
            fmt.kind_of(fmt.sign_mask) is Kind.NAN,
        )
