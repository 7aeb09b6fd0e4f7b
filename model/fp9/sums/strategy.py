"""Base class of strategies for matrix products."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine
from fp9.formats.rounding import Flags
from fp9.kernels import matrices as matmul_kernels
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder
from fp9.sums.sides import Places, Side, some_rows
from fp9.system.parallel import PRODUCTS
from fp9.system.scratch import scratch_copy, scratch_zeros

PRODUCTS_OF_TILES = 1 << 28
"""Number of products that a thread computes at once with register tiles. Other kernels use `PRODUCTS`."""

EVERY = slice(None)
INEXACT = np.uint8(Flags.INEXACT)


def some_columns(array: NDArray[Any], columns: Places) -> NDArray[Any]:
    return array if columns is EVERY else np.ascontiguousarray(array[:, columns])


Pair = tuple["NDArray[Any]", "NDArray[Any]"]


def some_of(pair: Pair, rows: Places, columns: Places, begin: int, end: int) -> tuple[*Pair, int, int]:
    a, b = pair
    if isinstance(rows, slice) and columns is EVERY:
        a, b = read_only(a[rows], b)
        return a, b, begin, end
    a, b = read_only(*(np.ascontiguousarray(x) for x in (a[rows, begin:end], b[begin:end, columns])))
    return a, b, 0, end - begin


class Problem(NamedTuple):
    """Properties of a small matrix product that do not depend on the operands' codes."""

    engine: Engine
    a: Span
    b: Span
    depth: int  # number of products of a sum
    joins: bool
    flags: bool


class Unpacked(NamedTuple):
    """Two operands of a small matrix product, each as three arrays.

    The arrays of an operand hold the finite numbers, their alignment exponents, and the exponents of their lowest bits.
    """

    a: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # three arrays (m, k)
    b: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # three arrays (k, n)
    lowest: int  # sum of the lowest bit exponents of both operands
    highest: int  # sum of the highest bit exponents of both operands

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.a[0]), self.b[0].shape[1]


SmallSums = Callable[[Unpacked], "tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None] | None"]
"""Function that returns sums (m, n), an array that is nonzero if a sum is wrong, and marks of inexact sums or None.

A negative mark means that the flags of a sum are unknown. The function returns None for unsuitable numbers.
"""

NO_REDO = np.zeros((0, 0), dtype=np.bool_)
_NO_PLACES = (np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))


class Flagged(NamedTuple):
    """Sums of a matrix product and their exception flags, in arrays of the shape (rows, n)."""

    numbers: NDArray[Any]
    flags: NDArray[np.uint8]
    unsure: NDArray[np.bool_]  # mask of the sums whose flags are unknown

    @property
    def open(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        some = self.unsure | ~np.isfinite(self.numbers)
        if not some.any():
            return _NO_PLACES
        rows, columns = np.nonzero(some)
        return rows, columns


class FastSums(abc.ABC):
    """Base class of strategies for matrix products of `a` (m, k) and `b` (n, k)."""

    carrier: type[np.floating[Any]] = np.float64
    part = PRODUCTS
    rounds_to_odd = False
    """Whether the strategy supports rounding to odd, of results or of the terms in a window."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        self.engine, self.joins = engine, joins
        self.depth = a.depth
        self.a, self.b = read_only(a.rows(self.carrier.__name__), b.columns(self.carrier.__name__))
        self._scales = a.at_sums, b.at_sums

    @staticmethod
    @abc.abstractmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        """Return whether the kernel is bit-exact for all numbers in two operands' exponent ranges."""

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        """Return whether the kernel is bit-exact for the operands' codes. `fits` must have returned True."""
        return True

    @classmethod
    def small(cls, problem: Problem) -> SmallSums | None:
        """Return a function that computes small products with precomputed constants."""
        return None

    @staticmethod
    def order_of_a(engine: Engine, depth: int) -> NDArray[np.intp]:
        """Return the order in which the kernel expects the columns of `a`."""
        return np.arange(depth)

    @abc.abstractmethod
    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        """Add the products with indices begin..end-1 to accumulators (rows, columns), in place or in a new array."""

    def run(self, rows: slice, start: NDArray[np.float64]) -> NDArray[Any]:
        if not self.joins:
            return self.accumulate(rows, EVERY, scratch_copy(start, self.carrier), 0, self.depth)
        totals = scratch_copy(start, start.dtype)
        for first in range(rows.start, rows.stop, _JOINED_ROWS):
            some = slice(first, min(first + _JOINED_ROWS, rows.stop))
            own = slice(some.start - rows.start, some.stop - rows.start)
            totals[own] = self.join(some, EVERY, totals[own])
        return totals

    def join(self, rows: Places, columns: Places, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        for begin, end, scales in self._chunks(rows, columns):
            zeros = scratch_zeros(totals.shape, self.carrier)
            parts = self.accumulate(rows, columns, zeros, begin, end)
            matmul_kernels.join(totals, parts, *scales, self._total)
        return totals

    def _chunks(self, rows: Places, columns: Places) -> Iterator[tuple[int, int, Pair]]:
        length = self.engine.chunk.length or self.depth
        for chunk, begin in enumerate(range(0, self.depth, length)):
            scale_a, scale_b = (scales[:, min(chunk, scales.shape[1] - 1)] for scales in self._scales)
            of_rows, of_columns = some_rows(scale_a, rows), np.broadcast_to(scale_b, self.b.shape[1:])[columns]
            scales = np.ascontiguousarray(of_rows), np.ascontiguousarray(of_columns)
            yield begin, min(begin + length, self.depth), scales

    @property
    def has_flags(self) -> bool:
        return False

    def flagged(self, rows: Places, columns: Places, start: NDArray[np.float64]) -> Flagged:
        raise NotImplementedError(f"{type(self).__name__} has no flags")

    @functools.cached_property
    def _total(self) -> Any:
        return rounder(self.engine.output, self.engine.output_rounding, np.float64)


_JOINED_ROWS = 128
"""Number of rows whose totals stay in the second-level cache from chunk to chunk."""


def depth_bits(depth: int) -> int:
    """Return by how many bits a sum of `depth` numbers can be longer than a single number."""
    return max(depth - 1, 0).bit_length()


def zeros_count(engine: Engine, a: Span, b: Span) -> bool:
    # Some accumulators align zeros with a fixed exponent, which can exceed the exponents of the other terms.
    lowest = min(a.lowest + b.lowest, engine.result.format.min_normal_exponent)
    return engine.window.zero_exponent is not None and lowest < engine.window.zero_exponent


def range_bits(x: Span) -> int:
    return x.highest - x.lowest + 1
