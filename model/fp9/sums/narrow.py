"""Compute a * b + c with exception flags for formats of at most 16 bits.

The exact sum is rounded to odd in float32, and then to the result format. After rounding to odd, the second rounding
gives the correctly rounded sum (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE ToC 2008).
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.plans import TOP_FIELD, edges_of, fixed_rounding, grid_of, odd_is_safe
from fp9.casts.request import NOTHING, Request
from fp9.casts.tables import decode_table
from fp9.formats import FixedFormat, Format
from fp9.formats.host import BINARY32
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Overflow, Rounding
from fp9.sums.general import rounding_of
from fp9.system.parallel import CACHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.kernels.round32 import Grid, Limits

_INFINITY = BINARY32.infinity

_BY_MAGNITUDE = {mode for mode in Rounding if mode.is_nearest} | {Rounding.RTZ}


class NarrowSums:
    """Vectorised computation of a * b + c, rounded to the format of `c`."""

    def __init__(self, result: Format, rounding: Rounding, grid: Grid) -> None:
        self._grid, self._limits = grid, _limits(result, rounding)
        self._addends = decode_table(result)
        _, _, target, _ = rounding_of(result, rounding)
        edges = edges_of(result.bits, target._replace(nan=(target.nan[0],) * 2))
        assert edges is not None  # the two infinities differ only in the sign bit
        request = Request(result, CastPolicy(rounding, Overflow.INF))
        self._round = fixed_rounding(request, grid, edges)

    def holds(self, factors: Sequence[Format], columns: Sequence[NDArray[Any]]) -> bool:
        # Each decoding table must have an entry for every value of the code array's dtype.
        return all(np.iinfo(x.dtype).max < t.size for x, t in zip(columns, self._tables(factors), strict=True))

    def run(
        self,
        factors: Sequence[Format],
        columns: Sequence[NDArray[Any]],
        codes: NDArray[Any],
        flags: NDArray[np.uint8],
    ) -> None:
        from fp9.kernels import round32 as fast_kernels  # slow to load

        tables = self._tables(factors)
        for start in range(0, codes.size, CACHED):
            part = slice(start, start + CACHED)
            patterns = np.empty(codes[part].size, dtype=np.uint32)
            fast_kernels.sums_to_odd(*tables, *(column[part] for column in columns), patterns)
            self._round(NOTHING, part, patterns, codes[part])
            fast_kernels.raise_flags(patterns, self._grid, self._limits, flags[part])

    def _tables(self, factors: Sequence[Format]) -> list[NDArray[np.float64]]:
        return [*(decode_table(fmt) for fmt in factors), self._addends]


@functools.lru_cache(maxsize=16)
def narrow_sums(result: Format, rounding: Rounding) -> NarrowSums | None:
    if not isinstance(result, FixedFormat) or rounding not in _BY_MAGNITUDE:
        return None
    grid = grid_of(Request(result, CastPolicy(rounding, Overflow.INF)), 0, TOP_FIELD - 1)
    return NarrowSums(result, rounding, grid) if grid is not None and odd_is_safe(grid) else None


def _limits(result: Format, rounding: Rounding) -> Limits:
    # Each pattern is found by bisection, with the general rounding kernel.
    from fp9.kernels import round64 as kernels  # slow to load
    from fp9.kernels.round32 import Limits

    binades, order, target, mode = rounding_of(result, rounding)

    def raised(pattern: int) -> tuple[int, int]:
        numbers = np.array([pattern, pattern + 1], dtype=np.uint32).view(np.float32).astype(np.float64)
        codes, flags = np.empty(2, dtype=np.uint32), np.empty(2, dtype=np.uint8)
        randoms = np.zeros(1, dtype=np.int64)
        patterns = numbers.view(np.int64)
        kernels.encode_bits(binades, order, target, mode, patterns, randoms, 1, 0, codes, flags)
        return int(flags[0]), int(flags[1])

    def not_tiny(pattern: int) -> bool:
        # Exact numbers raise no flags, and the neighbour of an exact number is never exact.
        here, above = raised(pattern)
        return not (here or above) & Flags.UNDERFLOW

    patterns = range(_INFINITY)
    overflow = bisect.bisect_left(patterns, True, key=lambda pattern: bool(raised(pattern)[0] & Flags.OVERFLOW))
    tiny = bisect.bisect_left(patterns, True, lo=1, key=not_tiny)
    return Limits(np.uint32(tiny), np.uint32(overflow))
