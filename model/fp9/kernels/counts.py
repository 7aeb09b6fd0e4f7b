"""Numba kernels that count what a cast did: sources by their patterns, results by their codes.

Loops without branches: LLVM turns them into vector code with as many lanes as the numbers are narrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fp9.kernels.compiled import kernel

_BLOCK = 192
"""Codes whose count an 8-bit lane holds."""


def _source_counters(pattern: Any, count: Any) -> tuple[Any, Any]:
    zero, one, nothing = pattern(0), count(1), count(0)

    @kernel
    def count_zeros(patterns, mask):
        zeros, top = nothing, zero
        for i in range(patterns.size):
            magnitude = pattern(patterns[i] & mask)
            zeros = count(zeros + (one if magnitude == zero else nothing))
            top = pattern(max(top, magnitude))
        return zeros, top

    @kernel
    def count_large(patterns, mask, overflow_plus, overflow_minus):
        large = nothing
        for i in range(patterns.size):
            bits = patterns[i]
            overflow = overflow_minus if bits > mask else overflow_plus
            large = count(large + (one if pattern(bits & mask) >= overflow else nothing))
        return large

    return count_zeros, count_large


COUNT_SOURCES = {
    2: _source_counters(np.uint16, np.uint32),
    4: _source_counters(np.uint32, np.uint32),
    8: _source_counters(np.uint64, np.uint64),
}
"""By bytes of a pattern: two counters of patterns of shape (n,), n below 2^32, whose sign `mask` takes off.

The first gives the number of zeros and the largest magnitude, of NaN too; the second the number of magnitudes from
`overflow` on, of positive and of negative sources. All limits are of the patterns' type.
"""


@kernel
def count_codes(codes, mask, nonzero, normal):
    """Codes of shape (n,), the sign taken off by `mask`, below `nonzero` and below `normal`; all of the codes' type."""
    zeros, small = 0, 0
    whole = codes.size // _BLOCK * _BLOCK
    for start in range(0, whole, _BLOCK):
        block = codes[start : start + _BLOCK]
        block_zeros, block_small = np.uint8(0), np.uint8(0)
        for i in range(_BLOCK):
            code = block[i] & mask
            block_zeros = np.uint8(block_zeros + (np.uint8(1) if code < nonzero else np.uint8(0)))
            block_small = np.uint8(block_small + (np.uint8(1) if code < normal else np.uint8(0)))
        zeros += int(block_zeros)
        small += int(block_small)
    for i in range(whole, codes.size):
        code = codes[i] & mask
        zeros += 1 if code < nonzero else 0
        small += 1 if code < normal else 0
    return zeros, small
