"""One number in every format: its code by fields, its neighbours, and the rounding decision."""

from __future__ import annotations

import functools
import math
import re
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fp9.casts.arrays import hybrid_thresholds
from fp9.formats import (
    FixedFormat,
    Format,
    HiFloat8,
    Kind,
    PowerOfTwo,
    ScaledInteger,
    UnsignedFloat,
    every_format,
    floor_log2,
)
from fp9.formats.policy import CastPolicy
from fp9.oracle.casts import Exact, HybridBits, RandomBits, encode, exact, neighbours
from fp9.rounding import PUBLISHED, Flags, Overflow, Rounding, choice

Record = dict[str, Any]
Bits = RandomBits | HybridBits | None

OWN = "own"
"""Choice of rounding that means each format's default rounding."""

RANDOM_WIDTH = 16
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
_SPECIAL = {"inf": Exact(Kind.INF), "-inf": Exact(Kind.INF, True), "nan": Exact(Kind.NAN)}
_HALF = 0.5


def parse(text: str) -> Exact:
    """Return the exact value of a decimal number in text. Raises ValueError for any other text."""
    word = text.strip().lower()
    if word in _SPECIAL:
        return _SPECIAL[word]
    if len(word) > 100 or not _DECIMAL.fullmatch(word):
        raise ValueError(f"{text!r} given; give a decimal such as 0.3 or -1e-5, inf or nan")
    return exact(Fraction(word), word.startswith("-"))


def record(text: str, rounding: str = OWN, overflow: str = "saturate", random: int = 0) -> Record:
    """Cast a number to every named format, and return the results as a record.

    `random` holds the 16 random bits of `sr`. Raises ValueError for unknown texts, roundings and policies.
    """
    x = parse(text)
    policy = choice(Overflow, overflow, "overflow policy")
    chosen = None if rounding == OWN else choice(Rounding, rounding, "rounding")
    if not 0 <= random < 1 << RANDOM_WIDTH:
        raise ValueError(f"random bits {random} given; give an integer below 2^{RANDOM_WIDTH}")
    return {
        "x": text,
        "float64": _float(x),
        "formats": [_cast(x, fmt, chosen, policy, random) for fmt in every_format()],
    }


def _cast(x: Exact, fmt: Format, rounding: Rounding | None, overflow: Overflow, random: int) -> Record:
    mode = rounding if rounding is not None and fmt.offers(rounding) else None
    applied = CastPolicy(mode, overflow, nan_to_zero=not fmt.has_nan).rounding_for(fmt)
    x, bits = _random_bits(x, applied, random)
    policy = CastPolicy(applied, overflow, nan_to_zero=not fmt.has_nan)
    code, flags = encode(x, fmt, policy, bits)
    value = fmt.to_float(code)
    return {
        "name": fmt.name,
        "bits": fmt.bits,
        "code": f"{code:0{-(-fmt.bits // 4)}X}",
        "fields": [{"name": f.name, "bits": f.bits} for f in split(code, fmt)],
        "value": _text(value),
        "relative": _relative(x, fmt, code),
        "flags": [flag.name.lower() for flag in Flags if flag & flags and flag.name],
        "rounding": applied.value,
        "decision": _decision(x, fmt, applied, bits, code),
    }


def _random_bits(x: Exact, rounding: Rounding, random: int) -> tuple[Exact, Bits]:
    """Hybrid rounding takes its random bits from the number rounded to FP32."""
    if rounding.reads_source:
        source = np.array([_float(x) or 0.0], dtype=np.float32)
        thresholds, width = hybrid_thresholds(source.dtype, PUBLISHED)
        held = x if x.kind in (Kind.INF, Kind.NAN) else exact(Fraction(float(source[0])), x.negative)
        return held, HybridBits(int(thresholds(source)[0]), width)
    return x, RandomBits(random, RANDOM_WIDTH) if rounding.needs_bits else None


def _relative(x: Exact, fmt: Format, code: int) -> float | None:
    if x.kind is not Kind.FINITE or fmt.kind_of(code) not in (Kind.FINITE, Kind.ZERO):
        return None
    return float((fmt.value_of(code) - x.value) / abs(x.value))


def _decision(x: Exact, fmt: Format, rounding: Rounding, bits: Bits, code: int) -> Record | None:
    """Return the position of a number between its two neighbours, and the position at which the result changes.

    `place` and `threshold` are fractions of the distance between the neighbours. All values are magnitudes.
    """
    if x.kind is not Kind.FINITE or (x.negative and not fmt.signed):
        return None
    near = neighbours(x.magnitude, fmt)
    above = near.below + near.ulp
    result = abs(fmt.value_of(code)) if fmt.kind_of(code) in (Kind.FINITE, Kind.ZERO) else None
    return {
        "below": _text(float(near.below)),
        "above": _text(float(above)),
        "place": float(near.excess),
        "threshold": _threshold(x, fmt, rounding, bits),
        "up": None if result not in (near.below, above) else result == above,
        "beyond": above > fmt.max_magnitude,
    }


def _threshold(x: Exact, fmt: Format, rounding: Rounding, bits: Bits) -> float | None:
    if isinstance(bits, RandomBits):
        return 1 - bits.value / (1 << bits.width)
    if isinstance(bits, HybridBits) and isinstance(fmt, HiFloat8) and fmt.is_stochastic_at(floor_log2(x.magnitude)):
        return bits.threshold / (1 << bits.width)
    return _HALF if rounding.is_nearest or rounding.reads_source else None


# --- fields of codes -------------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A named field of a code, and its bits. Names are sign, exponent, fraction, dot, integer and zeros."""

    name: str
    bits: str


@functools.singledispatch
def _widths(fmt: Format, code: int) -> dict[str, int]:
    raise TypeError(f"{fmt.name} has no fields")


@_widths.register
def _(fmt: FixedFormat, code: int) -> dict[str, int]:
    fraction = fmt.fraction_bits
    return {"sign": 1, "exponent": fmt.exponent_bits, "fraction": fraction, "zeros": fmt.padding}


@_widths.register
def _(fmt: UnsignedFloat, code: int) -> dict[str, int]:
    return {"zeros": fmt.bits - fmt.exponent_bits - fmt.fraction_bits, "exponent": fmt.exponent_bits} | {
        "fraction": fmt.fraction_bits
    }


@_widths.register
def _(fmt: PowerOfTwo, code: int) -> dict[str, int]:
    return {"exponent": fmt.bits}


@_widths.register
def _(fmt: ScaledInteger, code: int) -> dict[str, int]:
    return {"sign": 1, "integer": fmt.bits - 1}


@_widths.register
def _(fmt: HiFloat8, code: int) -> dict[str, int]:
    """Return HiFloat8's field widths. The dot field gives the number of exponent bits (HiF8 Table 2)."""
    value = abs(fmt.value_of(code & 0x7F)) if fmt.kind_of(code & 0x7F) is Kind.FINITE else None
    if value is None and code & 0x7F == fmt.INF:
        value = abs(fmt.value_of(fmt.max_code)) * Fraction(3, 2)
    exponent = floor_log2(value) if value else fmt.LOWEST_NORMAL - 1
    if exponent < fmt.LOWEST_NORMAL:
        return {"sign": 1, "dot": 4, "exponent": 3}
    size, fraction = abs(exponent).bit_length(), fmt.fraction_bits_at(exponent)
    return {"sign": 1, "dot": 7 - size - fraction, "exponent": size, "fraction": fraction}


def split(code: int, fmt: Format) -> list[Field]:
    """Return the fields of a code, from left to right. Empty fields are omitted.

    >>> from fp9.formats import format
    >>> split(0x41, format("hif8"))
    [Field(name='sign', bits='0'), Field(name='dot', bits='10'), Field(name='exponent', bits='000'), \
Field(name='fraction', bits='01')]
    """
    text, fields = f"{code:0{fmt.bits}b}", []
    for name, width in _widths(fmt, code).items():
        if width:
            fields.append(Field(name, text[:width]))
            text = text[width:]
    return fields


# --- precision over magnitude ----------------------------------------------------------------------------------------


def precision() -> list[Record]:
    """Return the number of significand bits in each binade of every format."""
    return [{"name": fmt.name, "bits": fmt.bits, "points": _points(fmt)} for fmt in every_format()]


def _points(fmt: Format) -> list[tuple[int, int]]:
    lowest, highest = floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.max_magnitude)
    return [(e, e - fmt.quantum(e) + 1) for e in range(lowest, highest + 1)]


def _float(x: Exact) -> float | None:
    if x.kind not in (Kind.FINITE, Kind.ZERO):
        return None
    try:
        return float(x.value)
    except OverflowError:
        return None


def _text(value: float) -> str:
    return repr(value).removesuffix(".0") if math.isfinite(value) else repr(value)
