"""Operands of multiply-add units: ports, exponent ranges and format checks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.engines import check_exponents
from fp9.formats import HFP8_BIASES, TABLE_BITS, Format, floor_log2, with_bias
from fp9.units.base import Port, select_width

OPERAND_BITS = 8
"""Maximum width in bits of a narrow operand."""

# Maximum width of an operand of an `fma`, `dot` or `mac` unit in bits, which is the width of TF32.
WIDE_OPERAND_BITS = TABLE_BITS

OPERAND_SIGNIFICAND_BITS = 4
"""Minimum number of significand bits for 8-bit operands, with the leading 1."""

BIAS_BITS = 5
"""Width in bits of the port for an extra exponent bias, a two's complement number from -8 to 8."""


def operand_ports(
    operand: str, formats: tuple[Format, ...], bias_port: bool, doc: str, lanes: int = 1
) -> tuple[Port, ...]:
    # All lanes share the format-select port and the bias port.
    select = f"{operand}_format" if len(formats) > 1 else None
    width = max(f.bits for f in formats)
    names = [operand] if lanes == 1 else [f"{operand}{lane}" for lane in range(lanes)]
    ports = [Port(name, width, doc, formats, select) for name in names]
    if select:
        choices = tuple(f.name for f in formats)
        ports.append(Port(select, select_width(len(formats)), f"format of {operand}", choices=choices))
    if bias_port and any(f.programmable_bias for f in formats):
        ports.append(Port(f"{operand}_bias", BIAS_BITS, f"extra bias of {operand} in hfp8_143, -8..8", signed=True))
    return tuple(ports)


def check_operands(unit: str, field: str, formats: tuple[Format, ...], most: int = OPERAND_BITS) -> None:
    for f in formats:
        if not f.signed or f.bits > most:
            raise ValueError(f"{unit}: {field}={f.name} given; give signed formats of at most {most} bits")
        check_exponents(f"{unit}: {field}=", f, "")


def scale_ports(operand: str, fmt: Format, blocks: int) -> tuple[Port, ...]:
    if blocks == 1:
        return (Port(f"{operand}_scale", fmt.bits, f"scale of {operand}", (fmt,)),)
    return tuple(
        Port(f"{operand}_scale{block}", fmt.bits, f"scale of block {block} of {operand}", (fmt,))
        for block in range(blocks)
    )


def code_tables(formats: Sequence[Format]) -> NDArray[np.float64]:
    """Return the values of all codes in each format, float64 of shape (formats, codes).

    All rows have the same length. The row of a narrower format repeats the format's values, because the decoder ignores
    unused upper bits of a code.
    """
    codes = 1 << max(f.bits for f in formats)
    return np.stack([np.resize(f.table, codes) for f in formats])


def significand_bits(formats: Sequence[Format]) -> int:
    """Return a significand width in bits, including the leading 1, that is sufficient for every number of the given
    formats.

    A significand of 7 bits can hold every int8 number, even -128, because 128 is a power of two.
    """
    least = OPERAND_SIGNIFICAND_BITS if any(f.bits == OPERAND_BITS for f in formats) else 1
    return max(least, *(f.precision for f in formats))


def with_every_bias(formats: Sequence[Format], bias_port: bool) -> list[Format]:
    """Return the given formats, with variants for the values of a bias port.

    With `bias_port`, hfp8_143 is replaced by one variant for each exponent bias that the port can select.
    """
    return [
        variant
        for f in formats
        for variant in ([with_bias(f, b) for b in HFP8_BIASES] if bias_port and f.programmable_bias else [f])
    ]


@functools.lru_cache(maxsize=64)
def largest_code(fmt: Format) -> Fraction:
    # 128 for int8, more than the attribute `max`, because casts to int8 never give -128.
    return Fraction(float(np.max(np.abs(fmt.table), where=np.isfinite(fmt.table), initial=0)))


def exponent_range(formats: Sequence[Format], bias_port: bool) -> tuple[int, int]:
    """Return the exponents of the smallest nonzero and the largest finite magnitude in the formats."""
    every = with_every_bias(formats, bias_port)
    exponents = [floor_log2(magnitude) for f in every for magnitude in (f.value_of(f.smallest_code), largest_code(f))]
    return min(exponents), max(exponents)


def exponent_width(formats: tuple[Format, ...], bias_port: bool) -> int:
    """Return the width in bits of a two's complement field that holds the exponents of all numbers in the formats."""
    low, high = exponent_range(formats, bias_port)
    return 1 + max((-low - 1).bit_length() if low < 0 else 0, high.bit_length())
