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
"""Maximum width of a narrow operand in bits. The unit ignores upper port bits that a format does not use."""

WIDE_OPERAND_BITS = TABLE_BITS
"""Maximum width of an operand of an `fma`, `dot` or `mac` unit in bits. This is the width of TF32."""

OPERAND_SIGNIFICAND_BITS = 4
"""Minimum number of significand bits for 8-bit operands. E4M3, HFP8 and HiFloat8 have 4, including the leading 1."""

BIAS_BITS = 5
"""Width in bits of a port for an extra exponent bias in two's complement. Valid biases are -8 to 8."""


def operand_ports(
    operand: str, formats: tuple[Format, ...], bias_port: bool, doc: str, lanes: int = 1
) -> tuple[Port, ...]:
    """Return the ports of an operand: the codes of all lanes, the format-select port and the bias port.

    In a unit with several lanes, the name of each code port ends in the lane number, counted from 0. All lanes share
    the format-select port and the bias port. The format-select port exists only if there are several formats, and the
    bias port only with `bias_port`.
    """
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
    """Raise ValueError if an operand format is unsigned, is wider than `most` bits, or has too large exponents."""
    for f in formats:
        if not f.signed or f.bits > most:
            raise ValueError(f"{unit}: {field}={f.name} given; give signed formats of at most {most} bits")
        check_exponents(f"{unit}: {field}=", f, "")


def scale_ports(operand: str, fmt: Format, blocks: int) -> tuple[Port, ...]:
    """Return the ports for the scale codes of an operand, with one port for each block.

    If there are several scale ports, the names end in the block number.
    """
    if blocks == 1:
        return (Port(f"{operand}_scale", fmt.bits, f"scale of {operand}", (fmt,)),)
    return tuple(
        Port(f"{operand}_scale{block}", fmt.bits, f"scale of block {block} of {operand}", (fmt,))
        for block in range(blocks)
    )


def code_tables(formats: Sequence[Format]) -> NDArray[np.float64]:
    """Return the values of all codes in each format, float64 of shape (formats, codes).

    All rows have the length of the widest format's row. In the row of a narrower format, the values repeat, because
    the decoder ignores the upper bits of a code.
    """
    codes = 1 << max(f.bits for f in formats)
    return np.stack([np.resize(f.table, codes) for f in formats])


def significand_bits(formats: Sequence[Format]) -> int:
    """Return the width in bits of a significand that holds every number of the formats, with the leading 1.

    In an 8-bit integer format, 7 significand bits are enough even for -128, because 128 is a power of two.
    """
    least = OPERAND_SIGNIFICAND_BITS if any(f.bits == OPERAND_BITS for f in formats) else 1
    return max(least, *(f.precision for f in formats))


def with_every_bias(formats: Sequence[Format], bias_port: bool) -> list[Format]:
    """Return the formats.

    With `bias_port`, replace hfp8_143 by one format for each exponent bias that the port can select.
    """
    return [
        variant
        for f in formats
        for variant in ([with_bias(f, b) for b in HFP8_BIASES] if bias_port and f.programmable_bias else [f])
    ]


@functools.lru_cache(maxsize=64)
def largest_code(fmt: Format) -> Fraction:
    """Return the largest magnitude of all finite codes in the format. For int8, this is 128.

    For int8, this magnitude is larger than the attribute `max`, because casts to int8 never give -128.
    """
    return Fraction(float(np.max(np.abs(fmt.table), where=np.isfinite(fmt.table), initial=0)))


def exponent_range(formats: Sequence[Format], bias_port: bool) -> tuple[int, int]:
    """Return the exponents of the smallest nonzero and the largest finite magnitude in the given formats."""
    every = with_every_bias(formats, bias_port)
    exponents = [floor_log2(magnitude) for f in every for magnitude in (f.value_of(f.smallest_code), largest_code(f))]
    return min(exponents), max(exponents)


def exponent_width(formats: tuple[Format, ...], bias_port: bool) -> int:
    """Return the width of a two's complement field that can hold the exponent of every number in the given formats."""
    low, high = exponent_range(formats, bias_port)
    return 1 + max((-low - 1).bit_length() if low < 0 else 0, high.bit_length())
