"""Base class of strategies that compute matrix products in register tiles."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_to
from fp9.casts.random_bits import NO_RANDOM
from fp9.casts.sources import read_only
from fp9.engines import Engine
from fp9.formats import FixedFormat, floor_log2, pow2
from fp9.formats.host import BINARY32
from fp9.formats.rounding import Rounding
from fp9.kernels.tiles.vectors import tile_columns
from fp9.sums.fast import STRATEGIES, first_fitting
from fp9.sums.general import GeneralSums
from fp9.sums.operands import Span, bit_range
from fp9.sums.rounders import rounder, tiny_below
from fp9.sums.sides import NO_POWERS, Places, Side
from fp9.sums.strategy import INEXACT, PRODUCTS_OF_TILES, FastSums, Flagged, Problem, SmallSums, Unpacked
from fp9.system.scratch import scratch, scratch_copy, scratch_zeros


class Chunks(NamedTuple):
    """Length of a chunk, and constants for rounding the total after each chunk."""

    length: int
    total: Any = None
    tiny: float = 0.0

    @property
    def join(self) -> tuple[Any, float] | None:
        return None if self.total is None else (self.total, self.tiny)


Lost = NDArray[Any] | None
"""Array of marks that inexact steps set, or None if no flags are requested. A mark is an integer."""


def _magnitudes(numbers: NDArray[Any]) -> NDArray[Any]:
    magnitudes: NDArray[Any] = np.abs(numbers, out=scratch(numbers.shape, numbers.dtype))
    return magnitudes


SmallTiles = Callable[[Unpacked, Any, Any, NDArray[np.bool_], Any, Lost], bool]
"""Function that computes a small product, and returns whether the kernel supports the operands' numbers.

The arguments are the operands, (initial accumulators, sums), (first product, end, chunk length), `redo`, constants for
rounding totals, and marks.
"""

Marked = NDArray[np.bool_] | None
"""Mask of the rows or columns that another strategy computes, or None if there are none."""


class Tiled(FastSums):
    """Strategy that computes finite sums in register tiles, and leaves all other sums to another strategy."""

    part = PRODUCTS_OF_TILES

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._given = a, b
        self._special_rows: Marked = None
        self._special_columns: Marked = None
        if not a.is_finite:
            self._special_rows = ~np.isfinite(_magnitudes(self.a).max(axis=1))
            self.a = _cleared(self.a)
        if not b.is_finite:
            self._special_columns = ~np.isfinite(_magnitudes(self.b).max(axis=0))
            self.b = _cleared(self.b)

    def _mark_special(self, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> None:
        if rows.any():
            self._special_rows = rows if self._special_rows is None else rows | self._special_rows
        if columns.any():
            self._special_columns = columns if self._special_columns is None else columns | self._special_columns

    @classmethod
    def small(cls, problem: Problem) -> SmallSums | None:
        joins, flags, depth = problem.joins, problem.flags, problem.depth
        tiles = None if joins and (flags or not cls.joins_inside) else cls.small_tiles(problem)
        if tiles is None:
            return None
        chunks = _joined_chunks(problem.engine, depth) if joins else Chunks(depth)
        carrier, ends = np.dtype(cls.carrier), (0, depth, chunks.length)
        width, marks = _panel_of(carrier.itemsize), np.dtype(f"i{carrier.itemsize}")
        kind = np.dtype(np.float64) if joins else carrier

        def sums_of(x: Unpacked) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None] | None:
            shape = x.shape
            sums, redo = np.empty(shape, kind), np.zeros((shape[0], -(-shape[1] // width)), np.bool_)
            lost = np.zeros(shape, marks) if flags else None
            is_done = tiles(x, (np.zeros(shape, kind), sums), ends, redo, chunks.join, lost)
            return (sums, redo, lost) if is_done else None

        return sums_of

    @classmethod
    @abc.abstractmethod
    def small_tiles(cls, problem: Problem) -> SmallTiles | None:
        """Return a function that calls the kernel for small products, or None if there is none."""

    @abc.abstractmethod
    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        """Add the products with indices begin..end-1 to accumulators (rows, n), and return the accumulators.

        The function sets `redo[i, p]` if row i contains a wrong sum or an unknown flag in column panel p.
        """

    @functools.cached_property
    def _others(self) -> FastSums:
        found = first_fitting((*STRATEGIES, Stepwise), self.engine, *self._given, self.joins, flags=False)
        assert found is not None
        return found

    @functools.cached_property
    def _flagging(self) -> FastSums | None:
        return first_fitting(STRATEGIES, self.engine, *self._given, self.joins, flags=True)

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        def again(own: NDArray[np.intp], some: NDArray[np.intp], start: NDArray[Any]) -> NDArray[Any]:
            return self._others.accumulate(own, some, start.astype(self._others.carrier), begin, end)

        return self._mended(rows, acc, begin, end, Chunks(max(end - begin, 1)), again)

    def join(self, rows: Places, columns: Places, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        # Unscaled chunks are added inside the tiles.
        if not self._chunks_in_tiles:
            return super().join(rows, columns, totals)
        chunks = self._joined_chunks
        return self._mended(rows, totals, 0, self.depth, chunks, lambda *cells: self._others.join(*cells))

    joins_inside = True

    @functools.cached_property
    def _chunks_in_tiles(self) -> bool:
        return self.joins_inside and all((scales == 1).all() for scales in self._scales)

    @property
    def has_flags(self) -> bool:
        # For accumulators with a window and chunks, the formats of steps and totals must have subnormals.
        result, output = self.engine.result.format, self.engine.output
        stepped = self.engine.window.width is None or (result.subnormals and output.subnormals)
        return not self.joins or (self._chunks_in_tiles and stepped)

    def flagged(self, rows: Places, columns: Places, start: NDArray[np.float64]) -> Flagged:
        redo = self._no_redo(rows, start)
        found, own = self._flagged(rows, start, redo), np.arange(self.a.shape[0])[rows]
        for some, of_columns in self._cells(redo):
            if self._flagging is None:
                break
            cells = np.ix_(some, of_columns)
            again = self._flagging.flagged(own[some], of_columns, start[cells])
            for array, part in zip(found, again, strict=True):
                array[cells] = part
        return found

    def _flagged(self, rows: Places, start: NDArray[np.float64], redo: NDArray[np.bool_]) -> Flagged:
        lost = scratch_zeros(start.shape, f"i{self.b.itemsize}")
        if self.joins:
            chunks, acc = self._joined_chunks, start
        else:
            chunks, acc = Chunks(self.depth), scratch_copy(start, self.carrier)
        sums = self.tiles(rows, acc, 0, self.depth, redo, chunks, lost)
        unsure = np.repeat(redo, self._panel, axis=1)[:, : start.shape[1]]
        if self._special_columns is not None:
            unsure |= self._special_columns
        sums[unsure] = 0
        unsure |= lost < 0
        return Flagged(sums, (lost != 0) * INEXACT, unsure)

    @property
    def _joined_chunks(self) -> Chunks:
        return _joined_chunks(self.engine, self.depth)

    @property
    def _panel(self) -> int:
        return _panel_of(self.b.itemsize)

    def _no_redo(self, rows: Places, acc: NDArray[Any]) -> NDArray[np.bool_]:
        redo = np.zeros((acc.shape[0], -(-acc.shape[1] // self._panel)), dtype=np.bool_)
        if self._special_rows is not None:
            redo |= self._special_rows[rows, None]
        return redo

    def _mended(
        self,
        rows: Places,
        acc: NDArray[Any],
        begin: int,
        end: int,
        chunks: Chunks,
        again: Callable[[NDArray[np.intp], NDArray[np.intp], NDArray[Any]], NDArray[Any]],
    ) -> NDArray[Any]:
        redo = self._no_redo(rows, acc)
        sums = self.tiles(rows, acc, begin, end, redo, chunks, None)
        if self._special_columns is None and not np.count_nonzero(redo):
            return sums
        own = np.arange(self.a.shape[0])[rows]
        for some, columns in self._cells(redo):
            sums[np.ix_(some, columns)] = again(own[some], columns, acc[np.ix_(some, columns)])
        return sums

    def _cells(self, redo: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        # If all panels of a row are wrong, the row is yielded once.
        columns, width = self.b.shape[1], self._panel
        everywhere = redo.all(axis=1)
        redo[everywhere] = False
        if everywhere.any():
            yield np.flatnonzero(everywhere), np.arange(columns)
        for panel in np.flatnonzero(redo.any(axis=0)):
            yield np.flatnonzero(redo[:, panel]), np.arange(panel * width, min((panel + 1) * width, columns))
        if self._special_columns is not None:
            yield np.arange(redo.shape[0]), np.flatnonzero(self._special_columns)


def _joined_chunks(engine: Engine, depth: int) -> Chunks:
    (lowest, highest), output = bit_range(engine.result.format), engine.output
    narrow = lowest >= BINARY32.lowest_quantum and highest <= BINARY32.bias
    own = output.native_dtype == "float32" and engine.output_rounding is Rounding.RNE
    in_float32 = own and narrow and engine.result.format.precision <= BINARY32.precision
    joining: Any = np.float32(0) if in_float32 else rounder(output, engine.output_rounding, np.float64)
    return Chunks(engine.chunk.length or depth, joining, tiny_below(output))


@functools.cache
def _panel_of(itemsize: int) -> int:
    return int(tile_columns.py_func(itemsize))


def _cleared(x: NDArray[Any]) -> NDArray[Any]:
    return read_only(np.where(np.isfinite(x), x, x.dtype.type(0)))[0]


class Stepwise(FastSums):
    """Strategy that uses the general kernel: slow, but correct for all accumulator models and numbers."""

    rounds_to_odd = True

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._general = GeneralSums(engine.within_chunk, a, b, joins=False)
        self._sides = a, b

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return True

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b = self._sides
        left, right = a.values[rows, begin:end], b.values[columns, begin:end]
        powers = (a.powers[rows, begin:end], b.powers[columns, begin:end]) if a.aligned else None
        result = self.engine.result.format
        codes, flags = np.empty(acc.shape[1], dtype=result.dtype), np.empty(acc.shape[1], dtype=np.uint8)
        for i, sums in enumerate(acc):
            row = slice(i, i + 1)
            aligned = (powers[0][row], powers[1]) if powers else (NO_POWERS, NO_POWERS)
            self._general.sum_rows((left[row], right), aligned, sums, _ONE, NO_RANDOM, codes, flags)
            acc[i] = decode_to(codes, result, np.float64)
        return acc


_ONE = np.ones((1, 1))


@functools.lru_cache(maxsize=128)
def lowest_step(result: FixedFormat) -> int:
    """Return the exponent of the smallest power of two that is at least the format's smallest positive number."""
    if result.subnormals:
        return result.quantum(result.lowest_exponent)
    smallest = result.value_of(result.smallest_code)
    return floor_log2(smallest) + (smallest != pow2(floor_log2(smallest)))
