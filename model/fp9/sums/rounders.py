"""Round float32 and float64 numbers to accumulator formats, in vectorised kernels."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from fp9.formats import FixedFormat, Format, pow2
from fp9.formats.rounding import Rounding
from fp9.kernels.floats import OddRounder, Rounder


def can_round(result: Format, rounding: Rounding) -> bool:
    if not isinstance(result, FixedFormat):
        return False
    subnormals = not result.flushes
    known = {Rounding.RNE: True, Rounding.RNA: result.flushes, Rounding.RTZ: subnormals, Rounding.RTO: subnormals}
    return known.get(rounding, False)


def carries(result: Format, carrier: type[np.floating[Any]]) -> bool:
    assert isinstance(result, FixedFormat)
    range_of = np.finfo(carrier)
    highest_start = int(range_of.maxexp) - int(range_of.nmant) - 3
    return range_of.minexp <= result.lowest_exponent <= highest_start and result.highest_exponent < range_of.maxexp


@functools.lru_cache(maxsize=128)
def rounder(result: Format, rounding: Rounding, carrier: type[np.floating[Any]]) -> Rounder | OddRounder:
    assert isinstance(result, FixedFormat)
    fraction_bits = np.finfo(carrier).nmant
    integer = np.uint32 if carrier is np.float32 else np.int64
    every = (1 << 32) - 1 if carrier is np.float32 else -1
    drop = fraction_bits - result.fraction_bits
    to_even, truncates = rounding is Rounding.RNE, rounding is Rounding.RTZ
    limit, magic, steps = _lowest_numbers(result, to_even, carrier)
    mask = integer(every & ~((1 << drop) - 1))
    ends = {"largest": carrier(result.max), "overflow": carrier(np.inf if result.has_inf else np.nan)}
    if rounding is Rounding.RTO:
        return OddRounder(mask=mask, limit=limit, steps=steps, quantum=1 / steps, **ends)
    return Rounder(
        drop=integer(drop),
        bias=integer(0 if truncates else (1 << (drop - 1)) - to_even),
        tie=integer(to_even),
        mask=mask,
        limit=limit,
        magic=magic,
        steps=steps if truncates else carrier(0),
        **ends,
    )


@functools.lru_cache(maxsize=128)
def tiny_below(result: Format) -> float:
    """Return the bound below which a rounded result can be tiny (IEEE 754 underflow)."""
    return float(max(pow2(result.min_normal_exponent), result.value_of(result.smallest_code)))


def _lowest_numbers(result: FixedFormat, to_even: bool, carrier: type[np.floating[Any]]) -> tuple[Any, Any, Any]:
    # Below `limit`, magnitudes are rounded by adding and subtracting `magic`, or truncated to multiples of 1 / `steps`.
    if result.subnormals:
        quantum = result.quantum(result.lowest_exponent)
        if carrier is np.float32 and result.lowest_exponent == np.finfo(np.float32).minexp:
            return carrier(0), carrier(0), carrier(0)  # the format and the carrier have the same subnormal numbers
        magic = carrier(2.0 ** (quantum + np.finfo(carrier).nmant))
        return carrier(2.0**result.lowest_exponent), magic, carrier(2.0**-quantum)
    # Zero uses the code of 2^lowest. Numbers that round to zero vanish when the large magic number is added.
    limit = carrier(2.0**result.lowest_exponent * (1 + 2.0 ** -(result.fraction_bits + 1)))
    magic = carrier(2.0 ** (result.lowest_exponent + np.finfo(carrier).nmant + 2))
    return np.nextafter(limit, carrier(1)) if to_even else limit, magic, carrier(1)
