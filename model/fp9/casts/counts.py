"""Counts of overflows, underflows, zeros and special values during a cast."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.request import NOTHING, Plan, Request, Supplied, universal
from fp9.casts.tables import decode_table
from fp9.casts.wide import decode_wide
from fp9.formats import Format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Overflow, Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.kernels.counts import Found, Limits


@dataclass(frozen=True)
class Counts:
    """Statistics of a cast, such as the number of overflowed elements.

    The operator `+` adds the statistics of two casts.

    >>> import fp9
    >>> _, first = fp9.encode([1000.0, 0.001, 1e-9, 0.0], "e4m3", counts=True)
    >>> first
    Counts(elements=4, overflowed=1, underflowed=2, zeroed=1, infinite=0, nan=0, amax=1000.0)
    >>> _, second = fp9.encode([2000.0, float("nan")], "e4m3", counts=True)
    >>> first + second
    Counts(elements=6, overflowed=2, underflowed=2, zeroed=1, infinite=0, nan=1, amax=2000.0)
    """

    elements: int = 0
    overflowed: int = 0
    """Number of finite source numbers whose rounded magnitude exceeds the format's largest number."""
    underflowed: int = 0
    """Number of nonzero source numbers whose result is zero or subnormal."""
    zeroed: int = 0
    """Number of nonzero source numbers whose result is zero."""
    infinite: int = 0
    """Number of infinite source numbers."""
    nan: int = 0
    """Number of source numbers that are NaN."""
    amax: float = 0.0
    """Largest magnitude of the source numbers before scaling, including infinity but not NaN."""

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(
            self.elements + other.elements,
            self.overflowed + other.overflowed,
            self.underflowed + other.underflowed,
            self.zeroed + other.zeroed,
            self.infinite + other.infinite,
            self.nan + other.nan,
            max(self.amax, other.amax),
        )


_PIECE = 1 << 12
"""Number of elements in a section."""


class Tally:
    """Thread-safe counter that adds up the statistics of all slices of an array."""

    def __init__(self, request: Request, dtype: np.dtype[Any]) -> None:
        self._request = request
        self._sources, results = _source_limits(request, dtype), _code_limits(request.fmt)
        self._limits = None if self._sources is None or results is None else _limits(self._sources, results)
        looks_small = results is not None and results.nan_is_small
        self._overflow_looks_small = looks_small and request.policy.overflow is not Overflow.SATURATE
        self._parts: list[Counts] = []

    def encode(
        self,
        plan: Plan,
        supplied: Supplied,
        part: slice,
        source: NDArray[Any],
        codes: NDArray[Any],
        flags: NDArray[np.uint8],
    ) -> None:
        found = None
        if plan.counted is None or self._limits is None:
            plan.encode(supplied, part, source, codes, flags)
        else:
            found = plan.counted(source, codes, self._limits)
        self._add(supplied, part, source, codes, found)

    def total(self) -> Counts:
        return sum(self._parts, Counts())

    def _add(
        self, supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], found: Found | None = None
    ) -> None:
        from fp9.kernels.counts import count_all  # slow to load

        sources, limits = self._sources, self._limits
        if sources is None or limits is None:
            self._parts.append(self._one_by_one(supplied, part, source, codes))
            return
        patterns = source.view(limits.source_mask.dtype)
        zeros, large, vanished, small, top = count_all(patterns, codes, limits) if found is None else found
        overflows = top >= min(limits.overflow_plus, limits.overflow_minus)
        if overflows and (not sources.is_sharp or top >= sources.infinity or self._overflow_looks_small):
            self._by_pieces(supplied, part, source, codes)
            return
        zeros = zeros if limits.nonzero else 0
        amax = np.array([top], dtype=patterns.dtype).view(source.dtype)
        self._parts.append(Counts(source.size, large, small - zeros, vanished - zeros, 0, 0, float(amax[0])))

    def _by_pieces(self, supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any]) -> None:
        if source.size <= _PIECE:
            self._parts.append(self._one_by_one(supplied, part, source, codes))
            return
        for start in range(0, source.size, _PIECE):
            piece = slice(start, start + _PIECE)
            whole = slice(part.start + start, min(part.start + start + _PIECE, part.stop))
            self._add(supplied, whole, source[piece], codes[piece])

    def _one_by_one(self, supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any]) -> Counts:
        fmt = self._request.fmt
        flags = np.empty(source.size, dtype=np.uint8)
        flagged = universal(replace(self._request, flags=True), source.dtype)
        flagged.encode(supplied, part, source, np.empty_like(codes), flags)
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            size = np.abs(source.astype(np.float64))
        nan, infinite = np.isnan(size), np.isinf(size)
        results, numbers = _magnitudes(codes, fmt), (size > 0) & ~infinite
        return Counts(
            size.size,
            int(np.count_nonzero(flags[~infinite] & Flags.OVERFLOW)),
            int(np.count_nonzero(numbers & (results < fmt.smallest_normal))),
            int(np.count_nonzero(numbers & (results == 0))),
            int(np.count_nonzero(infinite)),
            int(np.count_nonzero(nan)),
            float(np.max(size, where=~nan, initial=0.0)),
        )


def _magnitudes(codes: NDArray[Any], fmt: Format) -> NDArray[np.float64]:
    numbers = decode_wide(codes, fmt) if fmt.bits > 16 else decode_table(fmt)[codes]
    magnitudes: NDArray[np.float64] = np.abs(numbers)
    return magnitudes


# --- limits -----------------------------------------------------------------------------------------------------------


class _SourceLimits(NamedTuple):
    """Bit patterns of a source type."""

    mask: Any  # magnitude mask
    infinity: Any
    overflow: tuple[Any, Any]  # overflow limits of positive and negative numbers
    # If false, random bits decide whether a magnitude above the limit overflows.
    is_sharp: bool


@functools.lru_cache(maxsize=256)
def _source_limits(request: Request, dtype: np.dtype[Any]) -> _SourceLimits | None:
    if dtype.kind in "iu" or request.scale is None:
        return None
    pattern, sign = np.dtype(f"u{dtype.itemsize}").type, 1 << (8 * dtype.itemsize - 1)
    infinity = int(np.array([np.inf]).astype(dtype).view(pattern)[0])
    sharp = request.rounding.is_monotone
    # With stochastic rounding, a number may overflow although its magnitude is not above the largest number's.
    plain = request if sharp else Request(request.fmt, CastPolicy(Rounding.RTZ), scale=request.scale + 1)
    overflows = _overflow(plain, dtype)

    def first(negative: int) -> Any:
        above = bisect.bisect_left(range(infinity), True, key=lambda magnitude: overflows(magnitude | negative))
        return pattern(above)

    return _SourceLimits(pattern(sign - 1), pattern(infinity), (first(0), first(sign)), sharp)


def _overflow(request: Request, dtype: np.dtype[Any]) -> Callable[[int], bool]:
    plan, pattern = universal(replace(request, flags=True), dtype), np.dtype(f"u{dtype.itemsize}")
    codes, flags = np.empty(1, dtype=request.fmt.dtype), np.empty(1, dtype=np.uint8)

    def overflows(bits: int) -> bool:
        plan.encode(NOTHING, slice(0, 1), np.array([bits], dtype=pattern).view(dtype), codes, flags)
        return bool(flags[0] & Flags.OVERFLOW)

    return overflows


class _CodeLimits(NamedTuple):
    """Constants of a target format."""

    mask: Any  # magnitude mask
    nonzero: Any  # smallest nonzero code
    normal: Any  # smallest normal code
    nan_is_small: bool
    """Whether a NaN code without its sign bit equals the code of a zero or a subnormal number."""


def _limits(sources: _SourceLimits, results: _CodeLimits) -> Limits:
    from fp9.kernels.counts import Limits  # slow to load

    return Limits(sources.mask, *sources.overflow, results.mask, results.nonzero, results.normal)


@functools.lru_cache(maxsize=64)
def _code_limits(fmt: Format) -> _CodeLimits | None:
    integer, sign = fmt.dtype.type, 1 << (fmt.bits - 1)
    if fmt.bits > 16:
        normal = fmt.code_of(Fraction(fmt.smallest_normal))
        nan = fmt.nan_code(False)
        nan_is_small = nan is not None and nan & (sign - 1) < normal
        return _CodeLimits(integer(sign - 1), integer(1), integer(normal), nan_is_small)
    codes, sizes = np.arange(len(fmt.table)), np.abs(fmt.table)
    number, zero, small = ~np.isnan(sizes), sizes == 0, sizes < fmt.smallest_normal
    for mask in (sign - 1, len(codes) - 1):
        bare = codes & mask
        nonzero, normal = (int(np.max(bare, where=which, initial=-1)) + 1 for which in (zero, small))
        if np.array_equal((bare < nonzero)[number], zero[number]) and np.array_equal(
            (bare < normal)[number], small[number]
        ):
            nan_is_small = bool((bare < normal)[~number].any())
            return _CodeLimits(integer(mask), integer(nonzero), integer(normal), nan_is_small)
    return None
