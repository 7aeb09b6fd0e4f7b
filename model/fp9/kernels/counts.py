"""Numba kernels that count zeros, overflows and underflows of a cast, without branches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.round32 import U, code_of, narrowing, nearest_even

BLOCK = 4096

_ZERO, _ONE, _SHORT = U(0), U(1), np.uint16


class Limits(NamedTuple):
    """Bit masks and thresholds with which kernels count zeros, overflows and underflows of a cast."""

    source_mask: Any  # takes the sign off a pattern
    overflow_plus: Any  # first magnitude that overflows, of positive numbers and of negative ones
    overflow_minus: Any
    code_mask: Any  # takes the sign off a code
    nonzero: Any  # first code that is no zero, and that is a normal number
    normal: Any


Found = tuple[int, int, int, int, Any]
"""Counts of zero sources, overflowing sources, zero codes, and zero or subnormal codes. The last item is the largest
source magnitude, which may be a NaN.
"""


@inlined
def _large(patterns, limits):
    pattern = patterns.dtype.type
    zero, one, large = pattern(0), pattern(1), pattern(0)
    for i in range(patterns.size):
        bits = patterns[i]
        overflow = limits.overflow_minus if bits > limits.source_mask else limits.overflow_plus
        large = pattern(large + (one if pattern(bits & limits.source_mask) >= overflow else zero))
    return large


@inlined
def _look(patterns, codes, limits):
    pattern, mask = patterns.dtype.type, limits.source_mask  # a count of a block fits a pattern
    zero, one = pattern(0), pattern(1)
    top, zeros, large = zero, zero, zero
    for i in range(patterns.size):
        magnitude = pattern(patterns[i] & mask)
        top = max(top, magnitude)
        zeros = pattern(zeros + (one if magnitude == zero else zero))
    if top >= min(limits.overflow_plus, limits.overflow_minus):
        large = _large(patterns, limits)
    vanished, small = _SHORT(0), _SHORT(0)
    for i in range(codes.size):
        code = codes[i] & limits.code_mask
        vanished = _SHORT(vanished + (_SHORT(1) if code < limits.nonzero else _SHORT(0)))
        small = _SHORT(small + (_SHORT(1) if code < limits.normal else _SHORT(0)))
    return np.int64(zeros), np.int64(large), np.int64(vanished), np.int64(small), top


@kernel
def count_all(patterns, codes, limits):
    """Count zeros, overflows and underflows of a cast."""
    zeros, large, vanished, small, top = 0, 0, 0, 0, patterns.dtype.type(0)
    for start in range(0, patterns.size, BLOCK):
        found = _look(patterns[start : start + BLOCK], codes[start : start + BLOCK], limits)
        zeros, large, vanished, small = zeros + found[0], large + found[1], vanished + found[2], small + found[3]
        top = max(top, found[4])
    return zeros, large, vanished, small, top


@inlined
def _encode_and_look(patterns, magic, offset, grid, edges, codes, limits, overflows):
    # The second loop counts overflows. It runs only for a block that has any, unless `overflows` is true.
    shift, lowest, magic_number = narrowing(grid, magic)
    nonzero, normal = U(limits.nonzero), U(limits.normal)
    zeros, large, vanished, small, top = _ZERO, _ZERO, _ZERO, _ZERO, _ZERO
    for i in range(patterns.size):
        pattern = patterns[i]
        magnitude = U(pattern & limits.source_mask)
        ordinal = nearest_even(magnitude, shift, lowest, offset, magic, magic_number)
        codes[i] = code_of(ordinal, magnitude, pattern, edges, False)
        top = max(top, magnitude)
        zeros = U(zeros + (_ONE if magnitude == _ZERO else _ZERO))
        vanished = U(vanished + (_ONE if ordinal < nonzero else _ZERO))
        small = U(small + (_ONE if ordinal < normal else _ZERO))
        if overflows:
            large = U(large + (_ONE if magnitude >= limits.overflow_plus else _ZERO))
    if not overflows and top >= limits.overflow_plus:
        large = _large(patterns, limits)
    return np.int64(zeros), np.int64(large), np.int64(vanished), np.int64(small), top


@kernel
def encode_nearest_even_counted(patterns, magic, offset, grid, edges, codes, limits):
    # The first loop over a block counts overflows only after a block with overflows.
    zeros, large, vanished, small, top = 0, 0, 0, 0, _ZERO
    overflows = False
    for start in range(0, patterns.size, BLOCK):
        block, results = patterns[start : start + BLOCK], codes[start : start + BLOCK]
        if overflows:
            found = _encode_and_look(block, magic, offset, grid, edges, results, limits, True)
        else:
            found = _encode_and_look(block, magic, offset, grid, edges, results, limits, False)
        overflows = found[1] > 0
        zeros, large, vanished, small = zeros + found[0], large + found[1], vanished + found[2], small + found[3]
        top = max(top, found[4])
    return zeros, large, vanished, small, top
