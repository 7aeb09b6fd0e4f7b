"""Source numbers near the rounding boundaries of a target format."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_native, encode
from fp9.formats import FixedFormat, Format, floor_log2, pow2

Codes = NDArray[np.int64]


@functools.lru_cache(maxsize=64)
def thresholds(source: FixedFormat, target: Format) -> Codes:
    """Return source magnitudes at and next to every target number and midpoint, in rising order."""
    numbers = np.array([target.to_float(int(code)) for code in target.ordered_magnitudes()])
    numbers = np.append(numbers, [2 * numbers[-1] - numbers[-2], 2 * numbers[-1]])
    return _around(np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2]), source)


def outside(source: FixedFormat, target: Format) -> Codes:
    """Return source magnitudes in the binades just outside the target's range."""
    smallest, largest = floor_log2(target.value_of(target.smallest_code)), floor_log2(target.max_magnitude)
    exponents = [*range(target.quantum(smallest) - 1, smallest), largest + 1, largest + 2]
    first = np.array([float(pow2(e)) for e in exponents])
    half = np.array([float(pow2(target.quantum(e) - 1)) for e in exponents])
    return _around(np.concatenate([first, first + half]), source)


def _around(points: NDArray[np.float64], source: FixedFormat) -> Codes:
    codes = encode(points, source, "rtz").astype(np.int64)
    around = (codes[:, None] + np.array([-1, 0, 1])).reshape(-1)
    return np.unique(around[(around >= 0) & (around <= source.magnitude_mask)])


def special_codes(fmt: FixedFormat) -> Codes:
    """Return positive codes of zero, infinity, NaN, and the numbers at the ends of the subnormal and normal ranges."""
    top, hidden = fmt.max_code, 1 << fmt.fraction_bits
    nans = [top + 1 + (1 << i) for i in range(fmt.fraction_bits)]
    edges = [0, 1, 2, hidden - 1, hidden, top - 1, top, top + 1, *nans, fmt.magnitude_mask]
    return np.array([code for code in edges if code <= fmt.magnitude_mask])


def tails(codes: Codes, source: FixedFormat, target: Format) -> NDArray[np.float64]:
    """Return the distance of each source from the next lower target number, in ulps of the target."""
    numbers = np.array([0.0, *(target.to_float(int(code)) for code in target.ordered_magnitudes())])
    numbers = np.unique(np.append(numbers, 2 * numbers[-1] - numbers[-2]))
    value = decode_native(codes.astype(source.dtype), source).astype(np.float64)
    above = np.clip(np.searchsorted(numbers, value, side="right"), 1, len(numbers) - 1)
    tails: NDArray[np.float64] = (value - numbers[above - 1]) / (numbers[above] - numbers[above - 1])
    return tails
