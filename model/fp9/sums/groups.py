"""Dot products that add each group of products as integers, and then multiply each group sum by its scales (NVFP4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine, Truncation, check_grouped
from fp9.formats.host import BINARY32
from fp9.kernels import groups as kernels
from fp9.kernels.tiles import chains as chain_kernels
from fp9.sums.general import engine_numbers, step_rounding
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder
from fp9.sums.sides import Places, Side, some_rows
from fp9.sums.strategy import PRODUCTS_OF_TILES, FastSums, some_columns
from fp9.system.scratch import scratch_zeros

if TYPE_CHECKING:
    from fp9.casts.random_bits import RandomBits

_ONE = np.ones((1, 1))


class GroupedSums:
    def __init__(self, engine: Engine, a: Side, b: Side) -> None:
        assert engine.step.group is not None, "the engine must have groups"
        check_grouped(engine, a.span.format, b.span.format)
        self._group = engine.step.group
        self._result = step_rounding(engine)
        lowest = a.span.lowest + b.span.lowest
        self._sums, _ = engine_numbers(engine, range(lowest, a.span.highest + b.span.highest + 2))
        self._sides = a.rows("integers"), b.rows("integers")
        self._unit = 2.0**lowest
        (factors_a, powers_a), (factors_b, powers_b) = _scales(a), _scales(b)
        self._factors, self._powers = (factors_a, factors_b), (powers_a, powers_b)

    def run(
        self,
        rows_a: Places,
        rows_b: Places,
        start: NDArray[np.float64],
        scales: NDArray[np.float64],
        random: RandomBits,
        codes: NDArray[Any],
        flags: NDArray[np.uint8],
    ) -> None:
        # The factors in `scales` must all be 1, because this strategy applies the scales of groups instead.
        integers, factors, powers = (
            [some_rows(array, part) for array, part in zip(arrays, (rows_a, rows_b), strict=True)]
            for arrays in (self._sides, self._factors, self._powers)
        )
        wide = np.empty(codes.shape, dtype=np.uint32)
        kernels.grouped_rows(
            self._result,
            self._sums,
            self._group,
            self._unit,
            kernels.Groups(*read_only(*integers, *factors, *powers)),
            *read_only(start),
            (*read_only(random.values), random.width),
            wide,
            flags,
        )
        codes[...] = wide


class GroupedTiles(FastSums):
    """Matrix-product strategy for accumulators that add scaled group sums in each step."""

    part = PRODUCTS_OF_TILES

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert engine.step.group is not None, "the engine must have groups"
        check_grouped(engine, a.span.format, b.span.format)
        self._group = engine.step.group
        self._operands = a.rows("float32"), b.columns("float32")
        self._magnitudes = np.abs(self._operands[0]), np.abs(self._operands[1])
        lowest = a.span.lowest + b.span.lowest
        self._sums, _ = engine_numbers(engine, range(lowest, a.span.highest + b.span.highest + 2))
        self._rounder = rounder(engine.result.format, engine.result.rounding, np.float64)
        groups, columns = -(-self.depth // self._group), self.b.shape[1]
        self._scales_a = [np.broadcast_to(x[:, :groups], (len(x), groups)) for x in _scales(a)]
        self._scales_b = [np.broadcast_to(x[:, :groups].T, (groups, columns)) for x in _scales(b)]

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        if engine.step.group is None:
            return False
        bits = a.highest + b.highest + 2 - a.lowest - b.lowest + (engine.step.group - 1).bit_length()
        return bits <= BINARY32.precision and engine.window.truncation is Truncation.ZERO

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        return all(x.groups is None or x.groups.is_finite for x in (a, b))

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        step = self.engine.step.products
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
        sums = scratch_zeros((len(starts), *shape), np.float32)
        a, b = read_only(pair[0][rows], some_columns(pair[1], columns))
        for own, start in zip(sums, starts, strict=True):
            chain_kernels.plain(a, b, own, start, min(start + self._group, end))
        return sums


def _scales(side: Side) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return (_ONE, _ONE) if side.groups is None else (side.groups.factors, side.groups.powers)
