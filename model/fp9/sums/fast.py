"""Matrix products by the vectorised kernels: which engine and operands each of them is right for."""

from __future__ import annotations

import abc
import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine, Truncation
from fp9.formats.host import BINARY32, BINARY64
from fp9.kernels import chains as chain_kernels
from fp9.kernels import matrices as matmul_kernels
from fp9.kernels import windows as window_kernels
from fp9.rounding import Flags, Rounding
from fp9.sums.general import GeneralSums
from fp9.sums.operands import Span
from fp9.sums.rounders import can_round, rounder, tiny_below
from fp9.sums.sides import Places, Side, some_rows
from fp9.system.parallel import PRODUCTS

EVERY = slice(None)
INEXACT = np.uint8(Flags.INEXACT)


def some_columns(array: NDArray[Any], columns: Places) -> NDArray[Any]:
    """Columns of a matrix, contiguous."""
    return array if columns is EVERY else np.ascontiguousarray(array[:, columns])


Pair = tuple["NDArray[Any]", "NDArray[Any]"]


def some_of(pair: Pair, rows: Places, columns: Places, begin: int, end: int) -> tuple[*Pair, int, int]:
    """Rows of one matrix (rows, k) and columns of another (k, columns), and between which places of k the products
    begin..end-1 are in them: what has to be copied is copied of these alone.
    """
    a, b = pair
    if isinstance(rows, slice) and columns is EVERY:
        a, b = read_only(a[rows], b)
        return a, b, begin, end
    a, b = read_only(*(np.ascontiguousarray(x) for x in (a[rows, begin:end], b[begin:end, columns])))
    return a, b, 0, end - begin


_NO_PLACES = (np.empty(0, dtype=np.intp),) * 2


class Flagged(NamedTuple):
    """Sums as numbers, their flags, and for which these are not known, as they are not for sums that are no numbers;
    each (rows, n).
    """

    numbers: NDArray[Any]
    flags: NDArray[np.uint8]
    unsure: NDArray[np.bool_]

    @property
    def open(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns of sums whose flags are not known."""
        some = self.unsure | ~np.isfinite(self.numbers)
        return np.nonzero(some) if some.any() else _NO_PLACES


class FastSums(abc.ABC):
    """An engine and two sides, a (m, k) and b (n, k), made ready for products of rows of a with all of b."""

    carrier: type[np.floating[Any]] = np.float64
    part = PRODUCTS

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        self.engine, self.joins = engine, joins
        self.depth = a.depth
        self.a, self.b = read_only(a.rows(self.carrier.__name__), b.columns(self.carrier.__name__))
        self._scales = a.at_sums, b.at_sums

    @staticmethod
    @abc.abstractmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        """Whether the kernel gives the engine's bits for numbers of these ranges and at most 2^depth_bits products."""

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        """Whether it does for these very codes, where the engine and the ranges fit."""
        return True

    @abc.abstractmethod
    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        """Accumulators (rows, columns) carried through the products begin..end-1, in their own place or another."""

    def run(self, rows: slice, start: NDArray[np.float64]) -> NDArray[Any]:
        """The sums of some rows from the numbers `start` (rows, n), as numbers."""
        if not self.joins:
            return self.accumulate(rows, EVERY, start.astype(self.carrier), 0, self.depth)
        totals = start.copy()
        for first in range(rows.start, rows.stop, _JOINED_ROWS):
            some = slice(first, min(first + _JOINED_ROWS, rows.stop))
            own = slice(some.start - rows.start, some.stop - rows.start)
            totals[own] = self.join(some, EVERY, totals[own])
        return totals

    def join(self, rows: Places, columns: Places, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Totals (rows, columns) with the sums of all chunks added, in their own place or another."""
        length = self.engine.chunk or self.depth
        for chunk, begin in enumerate(range(0, self.depth, length)):
            zeros = np.zeros(totals.shape, dtype=self.carrier)
            parts = self.accumulate(rows, columns, zeros, begin, min(begin + length, self.depth))
            scale_a, scale_b = (scales[:, min(chunk, scales.shape[1] - 1)] for scales in self._scales)
            of_rows, of_columns = some_rows(scale_a, rows), np.broadcast_to(scale_b, self.b.shape[1:])[columns]
            matmul_kernels.join(totals, parts, *map(np.ascontiguousarray, (of_rows, of_columns)), self._total)
        return totals

    @property
    def has_flags(self) -> bool:
        """Whether there is `flagged`."""
        return False

    def flagged(self, rows: slice, start: NDArray[np.float64]) -> Flagged:
        """As `run`, with flags."""
        raise NotImplementedError(f"{type(self).__name__} has no flags")

    @functools.cached_property
    def _total(self) -> Any:
        """The rounding of totals."""
        return rounder(self.engine.output, self.engine.output_rounding, np.float64)


_JOINED_ROWS = 128
"""Rows whose totals stay in the second-level cache from chunk to chunk."""


def _product_bits(a: Span, b: Span) -> int:
    return a.precision + b.precision


def _is_in_float32(a: Span, b: Span) -> bool:
    """Whether float32 holds every finite product."""
    in_range = a.lowest + b.lowest >= BINARY32.lowest_quantum and a.highest + b.highest + 1 <= BINARY32.bias
    parts = all(x.lowest >= BINARY32.lowest_quantum and x.highest <= BINARY32.bias for x in (a, b))
    return in_range and parts and _product_bits(a, b) <= BINARY32.precision


PRODUCTS_OF_TILES = 1 << 28
"""As `PRODUCTS`, for kernels of register tiles."""


class Chain(FastSums):
    """FP32 multiply-add: the products are exact in float32, and its addition is the engine's."""

    carrier = np.float32
    part = PRODUCTS_OF_TILES

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = _is_exact(engine) and engine.products == 1
        return (
            plain
            and engine.result.native_dtype == "float32"
            and engine.rounding is Rounding.RNE
            and _is_in_float32(a, b)
        )

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        chain_kernels.plain(a, b, acc, *ends)
        return acc

    @property
    def has_flags(self) -> bool:
        return not self.joins

    def flagged(self, rows: slice, start: NDArray[np.float64]) -> Flagged:
        """As the base class has it. The first inexact step leads the sums that are rounded down and up apart, and no
        later one leads them together. A sum of multiples of the smallest number never underflows.
        """
        lower, upper = start.astype(self.carrier), start.astype(self.carrier)
        a, b, *ends = some_of((self.a, self.b), rows, EVERY, 0, self.depth)
        chain_kernels.bounded(a, b, lower, upper, *ends)
        inexact = lower != upper
        numbers = self.run(rows, start) if inexact.any() else upper
        return Flagged(numbers, inexact * INEXACT, np.zeros(start.shape, dtype=np.bool_))


def _is_exact(engine: Engine) -> bool:
    """Whether steps sum exactly."""
    return engine.window is None and not engine.whole


class RoundedChain(FastSums):
    """One product a step and a result of at most 11 bits, carried in float32."""

    carrier = np.float32

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result, engine.rounding, np.float32)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        precision = engine.result.precision
        narrow = 2 * precision + 2 <= BINARY32.precision and _product_bits(a, b) <= precision
        to_nearest = engine.rounding is not Rounding.RTZ
        return _is_exact(engine) and engine.products == 1 and to_nearest and narrow and _is_in_float32(a, b)

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        matmul_kernels.rounded_chain(a, b, acc, *ends, self._rounder)
        return acc


class RoundedPairs(FastSums):
    """One or two products a step, summed with the addend in float64 to odd."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result, engine.rounding, np.float64)
        self._narrow = _range_bits(a.span) + _range_bits(b.span) <= BINARY64.precision

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return _is_exact(engine) and engine.products <= 2

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        products, neutral = self.engine.products, np.full(acc.shape[1], -0.0)
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        matmul_kernels.rounded_pairs(a, b, acc, *ends, products, self._narrow, neutral, self._rounder)
        return acc


class Windowed(FastSums):
    """Steps with a window."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        general = GeneralSums(engine, a, b, joins)
        self._powers = a.powers, b.columns("powers")
        self._sums = general.sums
        self._rounder = rounder(engine.result, engine.rounding, np.float64)
        self._kernel = window_kernels.windowed if engine.joined is None else window_kernels.joined

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        """A zero's exponent is not looked at: no product may lie below it."""
        zeros_matter = engine.zero_exponent is not None and a.lowest + b.lowest < engine.zero_exponent
        return engine.window is not None and engine.group is None and not zeros_matter

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        powers = some_of(self._powers, rows, columns, begin, end)[:2]
        self._kernel(self._sums, a, b, *powers, acc, *ends, self._rounder)
        return acc


class Exact(FastSums):
    """Exact sums over K: operands split by exponent, so that float64 holds the sum of every pair of parts."""

    part = PRODUCTS_OF_TILES

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        spans, bits = (a.span, b.span), depth_bits(self.depth)
        if _parts(*spans, bits) != (1, 1):
            spans = a.met_span, b.met_span
        counts = _parts(*spans, bits)
        assert counts is not None, "no number lies outside of its format"
        parts_a, parts_b = (read_only(*_split(*side)) for side in zip((self.a, self.b), spans, counts, strict=True))
        self._pairs = [(x, y) for x in parts_a for y in parts_b]
        self._general = GeneralSums(engine, a, b, joins)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = engine.whole and engine.rounding.is_monotone and not engine.rounding.cancels_to_minus
        return plain and _parts(a, b, depth_bits) is not None

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        """Parts of infinities and NaN are none."""
        return _parts(a.span, b.span, depth_bits) == (1, 1) or (a.is_finite and b.is_finite)

    def _sums_of_parts(
        self, rows: Places, columns: Places, shape: tuple[int, ...], begin: int, end: int
    ) -> NDArray[np.float64]:
        """The sums of every pair of parts, (pairs, rows, columns)."""
        parts = np.full((len(self._pairs), *shape), -0.0)
        for part, pair in zip(parts, self._pairs, strict=True):
            a, b, *ends = some_of(pair, rows, columns, begin, end)
            chain_kernels.plain(a, b, part, *ends)
        return parts

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        parts = self._sums_of_parts(rows, columns, acc.shape, begin, end)
        if self._joins_parts:
            t = rounder(self.engine.result, self.engine.rounding, np.float64)
            matmul_kernels.join_parts(acc, *self._one_or_two(parts), t)
        else:
            self._combine(parts, acc, np.empty(acc.shape, dtype=np.uint8))
        return acc

    @property
    def has_flags(self) -> bool:
        return True

    def flagged(self, rows: slice, start: NDArray[np.float64]) -> Flagged:
        parts = self._sums_of_parts(rows, EVERY, start.shape, 0, self.depth)
        sums = start.copy()
        flags, unsure = np.zeros((2, *start.shape), dtype=np.uint8)
        if self._joins_parts:
            t, below = rounder(self.engine.result, self.engine.rounding, np.float64), tiny_below(self.engine.result)
            matmul_kernels.join_parts_flagged(sums, *self._one_or_two(parts), t, below, flags, unsure)
        else:
            self._combine(parts, sums, flags)
        return Flagged(sums, flags, unsure.view(np.bool_))

    @property
    def _joins_parts(self) -> bool:
        """Whether vectors join and round the sums of parts."""
        return len(self._pairs) <= 2 and can_round(self.engine.result, self.engine.rounding)

    @staticmethod
    def _one_or_two(parts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        return parts[0], parts[1] if len(parts) == 2 else None

    def _combine(self, parts: NDArray[np.float64], acc: NDArray[np.float64], flags: NDArray[np.uint8]) -> None:
        base, limbs = self._general.sums.base, self._general.limbs()
        matmul_kernels.combine(*self._general.rounding, base, limbs, parts, acc, flags)


MAX_PARTS = 4
"""Into how many ranges of exponents an operand is split at most."""


def depth_bits(depth: int) -> int:
    """Bits by which a sum of so many numbers may be longer than one."""
    return max(depth - 1, 0).bit_length()


def _parts(a: Span, b: Span, depth_bits: int) -> tuple[int, int] | None:
    """Into how many ranges of exponents to split each operand, the fewest pairs; None where more are needed."""
    counts = itertools.product(range(1, MAX_PARTS + 1), repeat=2)
    for count_a, count_b in sorted(counts, key=math.prod):
        if _part_bits(a, count_a) + _part_bits(b, count_b) + depth_bits <= BINARY64.precision:
            return count_a, count_b
    return None


def _range_bits(x: Span) -> int:
    """Bits of the fixed-point numbers of a range of exponents."""
    return x.highest - x.lowest + 1


def _part_bits(x: Span, count: int) -> int:
    """Bits of the fixed-point numbers of one part: its range of exponents, and a significand below."""
    every = _range_bits(x)
    return every if count == 1 else min(every, -(-every // count) + x.precision - 1)


def _split(values: NDArray[np.float64], x: Span, count: int) -> list[NDArray[np.float64]]:
    """The numbers of each range of exponents, zeros of their sign in place of the others."""
    if count == 1:
        return [values]
    length = -(-_range_bits(x) // count)
    edges = [2.0 ** (x.lowest + length * i) for i in range(count)] + [np.inf]
    sizes = np.abs(values)
    zeros = np.copysign(0.0, values)
    return [np.where((sizes >= low) & (sizes < high), values, zeros) for low, high in itertools.pairwise(edges)]


STRATEGIES: tuple[type[FastSums], ...] = (Chain, RoundedChain, RoundedPairs, Windowed, Exact)
"""In the order in which they are tried."""


@functools.lru_cache(maxsize=1024)
def fitting(
    strategies: tuple[type[FastSums], ...], engine: Engine, a: Span, b: Span, joins: bool, depth_bits: int
) -> tuple[type[FastSums], ...]:
    """Those of some strategies that are right for an engine and ranges."""
    bypasses = engine.zero_bypass and (a.format.nan_is_inf or b.format.nan_is_inf)
    rounds = engine.whole or can_round(engine.result, engine.rounding)
    rounds_totals = not joins or can_round(engine.output, engine.output_rounding)
    special = engine.truncation is Truncation.JAM or not engine.ends_plainly
    if bypasses or special or not rounds or not rounds_totals:
        return ()
    return tuple(strategy for strategy in strategies if strategy.fits(engine, a, b, depth_bits))
