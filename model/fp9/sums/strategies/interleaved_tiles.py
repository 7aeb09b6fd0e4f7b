"""Register tiles of steps that sum even and odd products apart."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.formats.host import BINARY64
from fp9.kernels.tiles import halves as half_kernels
from fp9.sums.operands import Span
from fp9.sums.rounders import tiny_below
from fp9.sums.sides import Places, Side
from fp9.sums.strategies.aligned_tiles import Aligned, aligns, holds
from fp9.sums.strategies.tiled import Chunks, Lost
from fp9.system.scratch import scratch


class Interleaved(Aligned):
    """Steps that sum even and odd products apart."""

    _is_often_whole = False

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert engine.window is not None and engine.interleaved is not None
        lowest, largest = engine.result.lowest_exponent, self.carrier(float(engine.result.max))
        tiny = self.carrier(tiny_below(engine.result))
        self._numbers = half_kernels.Halves(engine.products, engine.window, engine.interleaved, lowest, largest, tiny)
        places = np.arange(self.depth)
        self._order = np.lexsort((places, places % engine.products % 2, places // engine.products))
        self.a, self.b = self.a.take(self._order, axis=1), self.b[self._order]
        self._exponents = self._ordered(self._exponents)

    def _ordered(self, pair: tuple[NDArray[Any], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Arrays of a (rows, k) and b (k, columns), places of even numbers first in each step."""
        return pair[0].take(self._order, axis=1), pair[1][self._order]

    @functools.cached_property
    def _lowest_bits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        a, b = self._given
        return self._ordered((a.rows("lowest bits"), b.columns("lowest bits")))

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return aligns(engine, a, b) and engine.interleaved is not None and holds(engine, BINARY64.precision)

    joins_inside = False

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        exponents_a, exponents_b = self._exponents
        sums, left = scratch(acc.shape, acc.dtype), (self.a[rows], exponents_a[rows])
        numbers, losses = (self._numbers, self._rounder), self._losses(rows, lost)
        half_kernels.halves(*numbers, *left, self.b, exponents_b, acc, sums, begin, end, redo, losses)
        return sums
