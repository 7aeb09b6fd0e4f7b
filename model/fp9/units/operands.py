"""Operands of units, of at most 8 bits: their ports, their exponents, and which formats can be one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.engines import check_exponents
from fp9.formats import HFP8_BIASES, Format, Kind, floor_log2, with_bias
from fp9.units.base import Port, select_width

OPERAND_BITS = 8
"""Bits that an operand has at most; those of a port above a narrower code are not read."""

OPERAND_SIGNIFICAND_BITS = 4
"""Bits that the significand field of an 8-bit operand has at least: those of E4M3, HFP8 and HiFloat8, leading 1
included."""

BIAS_BITS = 5
"""Width of an extra-bias port: two's complement, -8..8 used."""


def operand_ports(
    operand: str, formats: tuple[Format, ...], bias_port: bool, doc: str, lanes: int = 1
) -> tuple[Port, ...]:
    """The ports of one operand: its code (or codes, one a lane, numbered from 0), then what all lanes share: the
    format select where there are several formats, the extra bias where asked for."""
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


def check_operands(unit: str, field: str, formats: tuple[Format, ...]) -> None:
    """ValueError where a format of a field cannot be an operand."""
    for f in formats:
        if not f.signed or f.bits > OPERAND_BITS:
            raise ValueError(f"{unit}: {field}={f.name} given; give signed formats of at most {OPERAND_BITS} bits")
        check_exponents(f"{unit}: {field}=", f, "")


def scale_ports(operand: str, fmt: Format, blocks: int) -> tuple[Port, ...]:
    """The ports of an operand's scales, one for each block of its codes, numbered from 0 where there are several."""
    if blocks == 1:
        return (Port(f"{operand}_scale", fmt.bits, f"scale of {operand}", (fmt,)),)
    return tuple(
        Port(f"{operand}_scale{block}", fmt.bits, f"scale of block {block} of {operand}", (fmt,))
        for block in range(blocks)
    )


def code_tables(formats: Sequence[Format]) -> NDArray[np.float64]:
    """The numbers of all codes of each format, (formats, codes of the widest); bits above a code are not read."""
    codes = 1 << max(f.bits for f in formats)
    return np.stack([np.resize(f.table, codes) for f in formats])


def significand_bits(formats: Sequence[Format]) -> int:
    """Significand bits that hold every number of the formats, the leading 1 included.

    An integer has those of its largest magnitude; -128, which no cast produces, is a power of two.
    """
    least = OPERAND_SIGNIFICAND_BITS if any(f.bits == OPERAND_BITS for f in formats) else 1
    return max(least, *(f.precision for f in formats))


def with_every_bias(formats: Sequence[Format], bias_port: bool) -> list[Format]:
    """The formats; with a bias port, one with every extra bias in place of hfp8_143."""
    return [
        variant
        for f in formats
        for variant in ([with_bias(f, b) for b in HFP8_BIASES] if bias_port and f.programmable_bias else [f])
    ]


@functools.lru_cache(maxsize=64)
def largest_code(fmt: Format) -> Fraction:
    """The largest magnitude of a code; one that no cast produces may be larger than `max`: -128 of the integers."""
    return max(abs(fmt.value_of(code)) for code in range(1 << fmt.bits) if fmt.kind_of(code) is Kind.FINITE)


def exponent_range(formats: Sequence[Format], bias_port: bool) -> tuple[int, int]:
    """Lowest and highest exponent of the leading bit over all finite numbers of the formats."""
    every = with_every_bias(formats, bias_port)
    exponents = [floor_log2(magnitude) for f in every for magnitude in (f.value_of(f.smallest_code), largest_code(f))]
    return min(exponents), max(exponents)


def exponent_width(formats: tuple[Format, ...], bias_port: bool) -> int:
    """Bits of a two's complement exponent for all numbers of the formats."""
    low, high = exponent_range(formats, bias_port)
    return 1 + max((-low - 1).bit_length() if low < 0 else 0, high.bit_length())
