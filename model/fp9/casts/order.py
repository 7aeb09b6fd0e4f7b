"""Functions that compare, sort and classify codes, and find neighbouring numbers.

All functions convert codes to signed integers, called ordinals. The k-th smallest positive number has the ordinal k,
its negative has the ordinal -k, and zero has the ordinal 0. Infinity follows the largest finite number.
"""

from __future__ import annotations

import functools
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import as_codes, decode_to
from fp9.formats import FixedFormat, Format, Kind, format

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_NAN = np.int64(1) << 40
"""Magnitude of NaN's ordinal, which is larger than the ordinal of every number."""

UNORDERED = 2
"""Result of `compare` if an operand is NaN."""


class Class(IntEnum):
    """Number classes of IEEE 754-2019 section 5.7.2, but with one class for all NaN."""

    NAN = 0
    NEGATIVE_INFINITY = 1
    NEGATIVE_NORMAL = 2
    NEGATIVE_SUBNORMAL = 3
    NEGATIVE_ZERO = 4
    POSITIVE_ZERO = 5
    POSITIVE_SUBNORMAL = 6
    POSITIVE_NORMAL = 7
    POSITIVE_INFINITY = 8


def order(codes: ArrayLike, fmt: Format | str) -> NDArray[np.int64]:
    """Return sort keys for the total order of codes (IEEE 754-2019 section 5.10), in the shape of `codes`.

    The rising order is -NaN, -Inf, negative numbers, -0, +0, positive numbers, +Inf, +NaN.
    """
    found = format(fmt)
    array = as_codes(codes, found)
    ordinals, negative = _ordinals(array, found)
    return np.where(negative, -1 - np.abs(ordinals), ordinals)


def compare(a: ArrayLike, b: ArrayLike, fmt: Format | str) -> NDArray[np.int8]:
    """Return -1, 0 or 1 if a is less than, equal to or greater than b, and `UNORDERED` if an operand is NaN."""
    found = format(fmt)
    (left, _), (right, _) = (_ordinals(as_codes(codes, found), found) for codes in (a, b))
    unordered = (np.abs(left) >= _NAN) | (np.abs(right) >= _NAN)
    return np.where(unordered, UNORDERED, np.sign(left - right)).astype(np.int8)


def nextafter(codes: ArrayLike, toward: ArrayLike, fmt: Format | str) -> NDArray[Any]:
    """For each code, return the code of the next number in the direction of `toward`.

    The arrays `codes` and `toward` broadcast against each other.

    The neighbour above the largest number is infinity, or the largest number in a format without infinity.
    """
    found = format(fmt)
    start, end = np.broadcast_arrays(as_codes(codes, found), as_codes(toward, found))
    (here, negative), (there, _) = _ordinals(start, found), _ordinals(end, found)
    top = _max_ordinal(found) + found.has_inf
    step = np.clip(here + np.sign(there - here), -top if found.signed else int(not found.has_zero), top)
    stepped = _codes_at(step, negative, found)
    result = np.where(here == there, end, stepped)
    nan = (np.abs(here) >= _NAN) | (np.abs(there) >= _NAN)
    return np.where(nan, np.where(np.abs(here) >= _NAN, start, end), result).astype(found.dtype)


def ulp(codes: ArrayLike, fmt: Format | str) -> NDArray[np.float64]:
    """Return the ulp of each number as float64, in the shape of `codes`. NaN and infinities give NaN."""
    found = format(fmt)
    numbers = decode_to(as_codes(codes, found), found, np.float64)
    finite = np.isfinite(numbers)
    exponents = np.frexp(np.where(finite & (numbers != 0), numbers, found.smallest))[1] - 1
    distances = np.full(numbers.shape, np.nan)
    for exponent in np.unique(exponents[finite]):
        distances[finite & (exponents == exponent)] = np.ldexp(1.0, found.quantum(int(exponent)))
    return distances


def classify(codes: ArrayLike, fmt: Format | str) -> NDArray[np.uint8]:
    """Return the `Class` (number class) of each code, in the shape of `codes`."""
    found = format(fmt)
    array = as_codes(codes, found)
    numbers = decode_to(array, found, np.float64)
    size = np.abs(numbers)
    positive = np.select(
        [size == 0, np.isinf(size), size < found.smallest_normal],
        [Class.POSITIVE_ZERO, Class.POSITIVE_INFINITY, Class.POSITIVE_SUBNORMAL],
        Class.POSITIVE_NORMAL,
    )
    mirrored = Class.NEGATIVE_ZERO + Class.POSITIVE_ZERO - positive
    return np.where(np.isnan(numbers), Class.NAN, np.where(np.signbit(numbers), mirrored, positive)).astype(np.uint8)


# --- ordinals -------------------------------------------------------------------------------------------------------


def _max_ordinal(fmt: Format) -> int:
    if isinstance(fmt, FixedFormat):
        return fmt.max_code >> fmt.padding
    return len(_tables(fmt)[2]) - 2


def _ordinals(codes: NDArray[Any], fmt: Format) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the signed ordinals of codes, and a mask of negative signs, including -0."""
    if not isinstance(fmt, FixedFormat):
        ordinals, negative, _, _ = _tables(fmt)
        return ordinals[codes], negative[codes]
    magnitudes = (codes.astype(np.int64) & fmt.magnitude_mask) >> fmt.padding
    nan = magnitudes > _max_ordinal(fmt) + fmt.has_inf
    lone = (codes == fmt.sign_mask) & (fmt.nan_code(False) == fmt.sign_mask)
    magnitudes = np.where(nan | lone, magnitudes + _NAN, magnitudes)
    signless = lone | ((magnitudes == 0) | nan if not fmt.signed_zero else np.bool_(False))
    negative = ((codes & fmt.sign_mask) != 0) & ~signless
    return np.where(negative, -magnitudes, magnitudes), negative


def _codes_at(ordinals: NDArray[np.int64], negative_zero: NDArray[np.bool_], fmt: Format) -> NDArray[np.int64]:
    if not isinstance(fmt, FixedFormat):
        _, _, positives, negatives = _tables(fmt)
        return np.where(ordinals < 0, negatives[np.abs(ordinals)], positives[np.abs(ordinals)])
    negative = (ordinals < 0) | ((ordinals == 0) & negative_zero & fmt.signed_zero)
    return (np.abs(ordinals) << fmt.padding) | np.where(negative, fmt.sign_mask, 0)


@functools.lru_cache(maxsize=16)
def _tables(
    fmt: Format,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Return four look-up tables.

    The first two tables map codes to ordinals and to signs. The last two tables map magnitudes of ordinals to positive
    codes and to negative codes.
    """
    every = range(1 << fmt.bits)
    magnitudes = {fmt.value_of(int(code)): i for i, code in enumerate(fmt.ordered_magnitudes(), start=not fmt.has_zero)}
    top = max(magnitudes.values())
    ordinals = np.array([_ordinal(fmt, code, magnitudes, top) for code in every], dtype=np.int64)
    negative = np.array([fmt.is_negative(code) for code in every])
    positives = np.zeros(top + 2, dtype=np.int64)
    negatives = np.zeros(top + 2, dtype=np.int64)
    for code in reversed(every):
        if abs(ordinals[code]) <= top + 1:
            (negatives if negative[code] else positives)[abs(ordinals[code])] = code
    return ordinals, negative, positives, negatives


def _ordinal(fmt: Format, code: int, magnitudes: dict[Any, int], top: int) -> int:
    kind, sign = fmt.kind_of(code), -1 if fmt.is_negative(code) else 1
    if kind is Kind.NAN:
        return sign * int(_NAN)
    if kind is Kind.INF:
        return sign * (top + 1)
    return sign * magnitudes.get(abs(fmt.value_of(code)), top + 1)
