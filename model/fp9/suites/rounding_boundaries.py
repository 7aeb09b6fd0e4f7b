"""Where the rounding of a source to a target is decided: its thresholds, its special codes, its discarded tails."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_native, encode
from fp9.formats import FixedFormat, Format, floor_log2, pow2

Codes = NDArray[np.int64]


@functools.lru_cache(maxsize=64)
def thresholds(source: FixedFormat, target: Format) -> Codes:
    """Source magnitudes at, just below and just above every number of the target and every midpoint, rising."""
    numbers = np.array([target.to_float(int(code)) for code in target.ordered_magnitudes()])
    numbers = np.append(numbers, [2 * numbers[-1] - numbers[-2], 2 * numbers[-1]])
    return _around(np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2]), source)


def outside(source: FixedFormat, target: Format) -> Codes:
    """Source magnitudes at and just beside the first number and the first midpoint of binades that a target's spacing
    goes on in: two above its numbers, and those between half of its last place and its smallest number."""
    smallest, largest = floor_log2(target.value_of(target.smallest_code)), floor_log2(target.max_magnitude)
    exponents = [*range(target.quantum(smallest) - 1, smallest), largest + 1, largest + 2]
    first = np.array([float(pow2(e)) for e in exponents])
    half = np.array([float(pow2(target.quantum(e) - 1)) for e in exponents])
    return _around(np.concatenate([first, first + half]), source)


def _around(points: NDArray[np.float64], source: FixedFormat) -> Codes:
    """Source magnitudes at points and just beside them, rising."""
    codes = encode(points, source, "rtz").astype(np.int64)
    around = (codes[:, None] + np.array([-1, 0, 1])).reshape(-1)
    return np.unique(around[(around >= 0) & (around <= source.magnitude_mask)])


def special_codes(fmt: FixedFormat) -> Codes:
    """Magnitudes: zero, the ends of the subnormal and of the finite numbers, infinity and NaNs of every single bit."""
    top, hidden = fmt.max_code, 1 << fmt.fraction_bits
    nans = [top + 1 + (1 << i) for i in range(fmt.fraction_bits)]
    edges = [0, 1, 2, hidden - 1, hidden, top - 1, top, top + 1, *nans, fmt.magnitude_mask]
    return np.array([code for code in edges if code <= fmt.magnitude_mask])


def tails(codes: Codes, source: FixedFormat, target: Format) -> NDArray[np.float64]:
    """How far positive sources lie above the number of the target below them, in distances to the next one."""
    numbers = np.array([0.0, *(target.to_float(int(code)) for code in target.ordered_magnitudes())])
    numbers = np.unique(np.append(numbers, 2 * numbers[-1] - numbers[-2]))
    value = decode_native(codes.astype(source.dtype), source).astype(np.float64)
    above = np.clip(np.searchsorted(numbers, value, side="right"), 1, len(numbers) - 1)
    tails: NDArray[np.float64] = (value - numbers[above - 1]) / (numbers[above] - numbers[above - 1])
    return tails
