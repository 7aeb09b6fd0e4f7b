"""Tables and constants that describe a target format and a cast policy to the kernels.

A rounding table has one row per binade of float64. The ordinal of a magnitude is computed from the magnitude's
significand, a 53-bit integer:

    ordinal = base[row] + (significand >> shift[row])    plus 1 if the dropped bits require it

The ordinal of a magnitude is its index in the rising list of the format's magnitudes, with 0 for zero.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.formats import TABLE_BITS, FixedFormat, Format, Kind, ScaledInteger, floor_log2, pow2
from fp9.formats.host import BINARY32, BINARY64
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags
from fp9.oracle.casts import Exact, encode

ROWS = BINARY64.top_field + 1
_FLOAT64 = np.dtype(np.float64)
FAR_BELOW = 127
"""Shift for numbers so far below the format's smallest number that only directed rounding gives a nonzero result."""


class Rows(NamedTuple):
    """Arrays of a table that describes the rounding of float64 numbers to a target format. `order` maps ordinals to
    codes, or is empty if each ordinal equals its code.
    """

    binades: NDArray[np.int64]  # shape (ROWS, 2): shift, base
    order: NDArray[np.uint32]


class Target(NamedTuple):
    """Constants for rounding float64 numbers to a target format.

    Pairs hold a value for positive source numbers and a value for negative source numbers.
    """

    max_ordinal: int
    sign_mask: int
    signed_zero: bool
    twos_complement: bool
    lowest_row: int  # row of the lowest binade with full precision
    can_underflow: bool
    flushes: bool  # whether the format has no subnormal numbers
    overflow: tuple[int, int]
    infinite: tuple[int, int]
    infinite_flags: tuple[int, int]
    nan: tuple[int, int]
    nan_flags: tuple[int, int]
    padding: int  # zero bits below the ordinal in a code
    fraction_bits: int
    has_inf: bool
    ends_at_zero: bool = False  # whether negative numbers overflow
    flushed_below: int = 0  # code of the smallest magnitude of a sum that is not flushed to zero; 0 if none is flushed


@functools.lru_cache(maxsize=256)
def rounding_rows(fmt: Format) -> Rows:
    order = None if _counts_by_code(fmt) else fmt.ordered_magnitudes()
    highest = floor_log2(fmt.max_magnitude)
    above = (0, _max_ordinal(fmt) + 1)
    exponents = range(-BINARY64.bias, ROWS - BINARY64.bias)
    binades = np.array([_row(fmt, order, e) if e <= highest else above for e in exponents], dtype=np.int64)
    return Rows(binades, np.empty(0, dtype=np.uint32) if order is None else order)


@functools.lru_cache(maxsize=1024)
def rounding_target(fmt: Format, policy: CastPolicy) -> Target:
    # A slow exact reference computes which codes and flags overflow, infinity and NaN give, for both signs.
    infinite = _both_signs(Kind.INF, Fraction(0), fmt, policy)
    nan = _both_signs(Kind.NAN, Fraction(0), fmt, policy) if can_express_nan(fmt, policy) else [(0, Flags(0))] * 2
    plain = policy if policy.rounding_for(fmt).is_monotone else replace(policy, rounding=None)
    overflow = _both_signs(Kind.FINITE, 4 * fmt.max_magnitude, fmt, plain)
    return Target(
        max_ordinal=_max_ordinal(fmt),
        sign_mask=1 << (fmt.bits - 1),
        signed_zero=fmt.signed_zero,
        twos_complement=fmt.twos_complement,
        lowest_row=fmt.min_normal_exponent + BINARY64.bias,
        can_underflow=fmt.can_underflow,
        flushes=fmt.flushes,
        overflow=(overflow[0][0], overflow[1][0]),
        infinite=(infinite[0][0], infinite[1][0]),
        infinite_flags=(int(infinite[0][1]), int(infinite[1][1])),
        nan=(nan[0][0], nan[1][0]),
        nan_flags=(int(nan[0][1]), int(nan[1][1])),
        padding=fmt.padding,
        fraction_bits=fmt.precision - 1,
        has_inf=fmt.has_inf,
        ends_at_zero=fmt.ends_at_zero,
    )


def edge_codes(target: Target, takes_sign: int) -> list[int] | None:
    """Return the codes that vector kernels write for zero, overflow, infinity and NaN.

    If a result code depends on the sign of the source number, the function also sets the bit `takes_sign` in the code.
    If the bit `takes_sign` is set in a code and the source number is negative, the kernel negates the code.
    """
    zeros = (0, target.sign_mask if target.signed_zero else 0)
    codes = (zeros, target.overflow, target.infinite, target.nan)
    if any(minus not in (plus, _negative(plus, target)) for plus, minus in codes):
        return None
    return [plus if plus == minus else plus | takes_sign for plus, minus in codes]


def _negative(code: int, target: Target) -> int:
    return -code & (2 * target.sign_mask - 1) if target.twos_complement else code | target.sign_mask


def can_express_nan(fmt: Format, policy: CastPolicy) -> bool:
    return policy.nan_to_zero or fmt.nan_code(False) is not None


def _both_signs(kind: Kind, magnitude: Fraction, fmt: Format, policy: CastPolicy) -> list[tuple[int, Flags]]:
    return [encode(Exact(kind, negative, magnitude), fmt, policy) for negative in (False, True)]


def _max_ordinal(fmt: Format) -> int:
    if _counts_by_code(fmt):
        return fmt.max_code >> fmt.padding
    return len(fmt.ordered_magnitudes()) - 1


def _counts_by_code(fmt: Format) -> bool:
    return isinstance(fmt, FixedFormat | ScaledInteger)


def _row(fmt: Format, order: NDArray[np.uint32] | None, exponent: int) -> tuple[int, int]:
    if fmt.flushes and exponent < fmt.min_normal_exponent:
        return FAR_BELOW, 0
    if not fmt.has_zero and exponent < fmt.min_normal_exponent:
        return FAR_BELOW, 0  # the cast replaces numbers below the smallest number before it rounds
    quantum = fmt.quantum(exponent)
    shift = min(BINARY64.fraction_bits - exponent + quantum, FAR_BELOW)
    if exponent < quantum:
        return shift, 0
    return shift, _ordinal(fmt, order, exponent) - (1 << (exponent - quantum))


def _ordinal(fmt: Format, order: NDArray[np.uint32] | None, exponent: int) -> int:
    if fmt.flushes and exponent == fmt.min_normal_exponent:
        return 0
    code = fmt.code_of(pow2(exponent))
    return code >> fmt.padding if order is None else int(np.flatnonzero(order == code)[0])


@functools.lru_cache(maxsize=256)
def decode_table(fmt: Format, dtype: np.dtype[Any] = _FLOAT64) -> NDArray[Any]:
    """Return a table of each code's number, or one NaN for formats of more than `TABLE_BITS` bits."""
    return fmt.table.astype(dtype) if fmt.bits <= TABLE_BITS else np.array([np.nan], dtype=dtype)


@functools.lru_cache(maxsize=256)
def smallest_dtype(fmt: Format, scales: tuple[int, int] = (0, 0)) -> np.dtype[Any]:
    """Return float32 if float32 represents all numbers of the format times 2**scale, and otherwise float64."""
    low, high = scales
    lowest = fmt.quantum(floor_log2(fmt.value_of(fmt.smallest_code))) + low
    fits = floor_log2(fmt.max_magnitude) + high <= BINARY32.bias and lowest >= BINARY32.lowest_quantum
    return np.dtype(np.float32 if fits else np.float64)
