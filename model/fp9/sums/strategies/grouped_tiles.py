"""Register tiles of groups of products (NVFP4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine, Truncation, check_grouped
from fp9.formats.host import BINARY32
from fp9.kernels import groups as kernels
from fp9.kernels.tiles import chains as chain_kernels
from fp9.sums.general import engine_numbers
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder
from fp9.sums.sides import Places, Side, some_rows
from fp9.sums.strategies.base import PRODUCTS_OF_TILES, FastSums, some_columns
from fp9.system.scratch import scratch_full

if TYPE_CHECKING:
    pass
from fp9.sums.groups import scales_of_groups


class GroupedTiles(FastSums):
    """Groups by register tiles, and their steps by a loop over columns."""

    part = PRODUCTS_OF_TILES

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert engine.group is not None, "an engine with groups is asked for"
        check_grouped(engine, a.span.format, b.span.format)
        self._group = engine.group
        self._operands = a.rows("float32"), b.columns("float32")
        self._magnitudes = np.abs(self._operands[0]), np.abs(self._operands[1])
        lowest = a.span.lowest + b.span.lowest
        self._sums, _ = engine_numbers(engine, range(lowest, a.span.highest + b.span.highest + 2))
        self._rounder = rounder(engine.result, engine.rounding, np.float64)
        groups, columns = -(-self.depth // self._group), self.b.shape[1]
        self._scales_a = [np.broadcast_to(x[:, :groups], (len(x), groups)) for x in scales_of_groups(a)]
        self._scales_b = [np.broadcast_to(x[:, :groups].T, (groups, columns)) for x in scales_of_groups(b)]

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        if engine.group is None:
            return False
        bits = a.highest + b.highest + 2 - a.lowest - b.lowest + (engine.group - 1).bit_length()
        return bits <= BINARY32.precision and engine.truncation is Truncation.ZERO

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        return all(x.groups is None or x.groups.is_finite for x in (a, b))

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        step = self.engine.products
        for first in range(begin, end, step):
            self._step(rows, columns, acc, first, min(first + step, end))
        return acc

    def _step(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> None:
        starts = range(begin, end, self._group)
        sums = [
            self._sums_of(pair, rows, columns, acc.shape, starts, end) for pair in (self._operands, self._magnitudes)
        ]
        groups = slice(begin // self._group, begin // self._group + len(starts))
        left = [np.ascontiguousarray(some_rows(x, rows)[:, groups]) for x in self._scales_a]
        right = [np.ascontiguousarray(some_columns(x[groups], columns)) for x in self._scales_b]
        given = read_only(*sums, left[0], right[0], left[1], right[1])
        kernels.grouped_columns(self._sums, *given, acc, self._rounder)

    def _sums_of(
        self,
        pair: tuple[NDArray[Any], NDArray[Any]],
        rows: Places,
        columns: Places,
        shape: tuple[int, ...],
        starts: range,
        end: int,
    ) -> NDArray[np.float32]:
        """The sums of groups, (groups, rows, columns), exact in float32."""
        sums = scratch_full((len(starts), *shape), 0.0, np.float32)
        a, b = read_only(pair[0][rows], some_columns(pair[1], columns))
        for own, start in zip(sums, starts, strict=True):
            chain_kernels.plain(a, b, own, start, min(start + self._group, end))
        return sums
