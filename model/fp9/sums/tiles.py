"""Matrix products in register tiles, for accumulators without an alignment window."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine
from fp9.formats import FixedFormat
from fp9.formats.host import BINARY32, BINARY64
from fp9.formats.rounding import Rounding
from fp9.kernels.tiles import rounded_chains as chain_kernels
from fp9.kernels.tiles.chain_tiles import BLOCK
from fp9.kernels.tiles.window_tiles import SAFE_EXPONENT
from fp9.sums.aligned import Aligned, AlignedNarrow, Joined
from fp9.sums.fast import STRATEGIES, RoundedChain, first_fitting
from fp9.sums.groups import GroupedTiles
from fp9.sums.lattice import finer_rows
from fp9.sums.operands import Span, lowest_bits
from fp9.sums.rounders import rounder, tiny_below
from fp9.sums.sides import Places, Side
from fp9.sums.strategy import FastSums, Flagged, depth_bits
from fp9.sums.tiled import Chunks, Lost, Tiled, lowest_step
from fp9.system.scratch import scratch

_MODES = {Rounding.RNE: chain_kernels.NEAREST_EVEN, Rounding.RNA: chain_kernels.NEAREST_AWAY}


class Rounded(Tiled):
    """Strategy for accumulators that add one or more products per step exactly, and round each step to nearest."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        coarse, fine = self._steps(a, b)
        self._rounder = rounder(engine.result.format, engine.result.rounding, self.carrier)  # type: ignore[arg-type]
        self._numbers = _numbers(engine, self.carrier, coarse, fine, self._doubts_tiny(a, b))  # type: ignore[arg-type]
        self._lowest_bits = self._lowest_bits_below(coarse)

    def _lowest_bits_below(self, step: int) -> list[NDArray[Any]]:
        # If all products are multiples of 2^step, the kernel needs no exponents.
        a, b = self._given
        if a.span.lowest + b.span.lowest >= step or _met_step(a, b) >= step:
            nothing = np.empty(0, dtype=np.int8)
            return read_only(nothing.reshape(self.a.shape[0], 0), nothing.reshape(0, self.b.shape[1]))
        return read_only(a.rows("lowest bits"), b.columns("lowest bits"))

    def _doubts_tiny(self, _a: Side, _b: Side) -> bool:
        return False

    def _steps(self, a: Side, b: Side) -> tuple[int, int]:
        # A nonzero sum of multiples of the coarse step is never in the lowest binades of the result format. All numbers
        # are multiples of the fine step, except in the rows and columns marked as special. The coarse step must be so
        # large that float64 holds all sums of the largest products.
        result = self.engine.result.format
        met, wanted, fine = _met_step(a, b), _held_step(a, b, self.depth), _fine_step(self.engine, a, b)
        finer = finer_rows(a, b, fine)
        assert finer is not None, "`takes` has checked the number of masked rows"
        self._mark_special(*finer)
        return max(lowest_step(result), fine, min(met, wanted)), fine

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = engine.window.width is None and not engine.step.exact and engine.result.rounding in _MODES
        return plain and max(_range(a), _range(b)) < SAFE_EXPONENT

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        # A few rows may contain numbers with lower bits.
        usual = super().takes(engine, a, b, depth_bits)
        return usual and finer_rows(a, b, _fine_step(engine, a, b)) is not None

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        sums, (low_a, low_b) = scratch(acc.shape, acc.dtype), self._lowest_bits
        a, low_a, b = read_only(self.a[rows], low_a[rows], self.b)
        numbers, marks = (self._numbers, self._rounder), None if lost is None else (lost,)
        sides, products = ((a, low_a), (b, low_b)), (begin, end, chunks.length)
        self._kernel(*numbers, sides, (acc, sums), products, redo, chunks.join, marks)
        return sums

    _kernel = staticmethod(chain_kernels.rounded_steps)


class RoundedNarrow(Rounded):
    """Strategy for accumulators that add one product per step, computed in float32.

    With at most 11 significand bits, an inexact float32 sum is far from every midpoint, so double rounding is harmless.
    """

    carrier = np.float32

    def _steps(self, a: Side, b: Side) -> tuple[int, int]:
        return lowest_step(self.engine.result.format), BINARY32.lowest_quantum

    def _doubts_tiny(self, a: Side, b: Side) -> bool:
        return _met_step(a, b) < math.log2(tiny_below(self.engine.result.format)) - BINARY32.precision

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return RoundedChain.fits(engine, a, b, depth_bits) and Rounded.fits(engine, a, b, depth_bits)

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        return Tiled.takes(engine, a, b, depth_bits)

    def _flagged(self, rows: Places, start: NDArray[np.float64], redo: NDArray[np.bool_]) -> Flagged:
        found = super()._flagged(rows, start, redo)
        some = (found.flags == 0) & ~found.unsure
        if some.any():
            unmarked = np.nonzero(some)
            own, columns = np.arange(self.a.shape[0])[rows][unmarked[0]], unmarked[1]
            found.unsure[unmarked] = ~self._are_held(own, columns, start[unmarked])
        return found

    def _are_held(self, rows: NDArray[np.intp], columns: NDArray[np.intp], c: NDArray[np.float64]) -> NDArray[np.bool_]:
        a, b = (side.rows("lowest bits").min(axis=1).astype(np.int64) for side in self._given)
        last = np.minimum(a[rows] + b[columns], np.where(c == 0, BINARY32.bias, lowest_bits(np.where(c == 0, 1.0, c))))
        sizes = np.abs(self.a).sum(axis=1, dtype=np.float64)[rows] * np.abs(self.b).max(axis=0)[columns]
        return np.asarray((sizes + np.abs(c)) * 2.0**-BINARY32.precision < 2.0**last)

    _kernel = staticmethod(chain_kernels.rounded)


@functools.lru_cache(maxsize=256)
def _numbers(
    engine: Engine, carrier: type[np.floating[Any]], coarse: int, fine: int, doubts_tiny: bool
) -> chain_kernels.Rounded:
    result, numbers = engine.result.format, np.finfo(carrier)
    assert isinstance(result, FixedFormat)
    drop = int(numbers.nmant) - result.fraction_bits
    # A magnitude below the ceiling, times 2^drop, must be exact in the wider float type.
    largest = min(float(result.max), 2.0 ** (numbers.maxexp - 1 - drop))

    def step(exponent: int) -> chain_kernels.Step:
        exact = 2.0 ** (exponent + BINARY64.precision) if carrier is np.float64 else np.inf
        return chain_kernels.Step(exponent, carrier(2.0**exponent), carrier(min(largest, exact)))

    return chain_kernels.Rounded(
        engine.step.products,
        _MODES[engine.result.rounding],
        carrier(2.0**drop),
        step(coarse),
        step(fine),
        carrier((1 + 2.0**-result.precision) ** (BLOCK + 1)),
        carrier(tiny_below(result)),
        rounder(result, engine.result.rounding, carrier).mask.dtype.type(doubts_tiny),  # type: ignore[arg-type]
    )


def _met_step(a: Side, b: Side) -> int:
    return a.met_span.lowest + b.met_span.lowest


def _held_step(a: Side, b: Side, depth: int) -> int:
    """Return the smallest exponent e such that float64 holds any sum of `depth` products in units of 2^e."""
    longest = depth_bits(max(depth, BLOCK))
    return a.met_span.highest + b.met_span.highest + 2 + longest + 1 - BINARY64.precision


def _fine_step(engine: Engine, a: Side, b: Side) -> int:
    # In this unit, float64 holds the sum of any block of products.
    places = min(_met_step(a, b), engine.result.format.quantum(engine.result.format.lowest_exponent))
    return max(places, _held_step(a, b, BLOCK))


def _range(x: Span) -> int:
    return max(abs(x.lowest), abs(x.highest))


TILED: tuple[type[FastSums], ...] = (
    RoundedNarrow,
    Rounded,
    AlignedNarrow,
    Aligned,
    Joined,
    GroupedTiles,
)
"""Strategies with register tiles, in the order in which `fast_sums` tries them."""


_ALL = (*STRATEGIES[:1], *TILED, *STRATEGIES[1:])


def fast_sums(engine: Engine, a: Side, b: Side, joins: bool, flags: bool = False) -> FastSums | None:
    """Return the first vectorised strategy that computes the exact bits of an accumulator model for the operands `a`
    and `b`.

    Return None if no strategy does.
    """
    return first_fitting(_ALL, engine, a, b, joins, flags)
