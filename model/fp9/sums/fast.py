"""Vectorised strategies for matrix products, and the selection of a strategy."""

from __future__ import annotations

import abc
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine, Truncation
from fp9.formats.host import BINARY32, BINARY64
from fp9.formats.rounding import Overflow, Rounding
from fp9.kernels import matrices as matmul_kernels
from fp9.kernels import windows as window_kernels
from fp9.kernels.compiled import Direct
from fp9.kernels.tiles import chains as chain_kernels
from fp9.sums.exact import Exact
from fp9.sums.general import GeneralSums
from fp9.sums.operands import Span
from fp9.sums.rounders import can_round, carries, rounder
from fp9.sums.sides import Places, Side
from fp9.sums.strategy import (
    INEXACT,
    NO_REDO,
    PRODUCTS_OF_TILES,
    FastSums,
    Flagged,
    Problem,
    SmallSums,
    Unpacked,
    depth_bits,
    range_bits,
    some_of,
    zeros_count,
)
from fp9.system.scratch import scratch, scratch_copy, scratch_zeros


def _product_bits(a: Span, b: Span) -> int:
    return a.precision + b.precision


def _is_in_float32(a: Span, b: Span) -> bool:
    in_range = a.lowest + b.lowest >= BINARY32.lowest_quantum and a.highest + b.highest + 1 <= BINARY32.bias
    parts = all(x.lowest >= BINARY32.lowest_quantum and x.highest <= BINARY32.bias for x in (a, b))
    return in_range and parts and _product_bits(a, b) <= BINARY32.precision


class Chain(FastSums):
    """Strategy for FP32 fused multiply-adds whose products are exact in float32."""

    carrier = np.float32
    part = PRODUCTS_OF_TILES

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = _is_exact(engine) and engine.step.products == 1
        return (
            plain
            and engine.result.format.native_dtype == "float32"
            and engine.result.rounding is Rounding.RNE
            and _is_in_float32(a, b)
        )

    @classmethod
    def small(cls, problem: Problem) -> SmallSums | None:
        plain, flagged, depth = Direct(chain_kernels.plain), Direct(chain_kernels.plain_flagged), problem.depth
        if problem.joins:
            return None

        def sums_of(x: Unpacked) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
            sums = np.zeros(x.shape, dtype=np.float32)
            if not problem.flags:
                plain(x.a[0], x.b[0], sums, 0, depth)
                return sums, NO_REDO, None
            inexact = np.empty(x.shape, dtype=np.bool_)
            flagged(x.a[0], x.b[0], sums, inexact, 0, depth)
            return sums, NO_REDO, inexact

        return sums_of

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        chain_kernels.plain(a, b, acc, *ends)
        return acc

    @property
    def has_flags(self) -> bool:
        return not self.joins

    def flagged(self, rows: Places, columns: Places, start: NDArray[np.float64]) -> Flagged:
        # All terms are multiples of float32's smallest subnormal number, so no sum underflows.
        sums, inexact = scratch_copy(start, self.carrier), scratch(start.shape, np.bool_)
        a, b, *ends = some_of((self.a, self.b), rows, columns, 0, self.depth)
        chain_kernels.plain_flagged(a, b, sums, inexact, *ends)
        return Flagged(sums, inexact * INEXACT, np.zeros(start.shape, dtype=np.bool_))


def _is_exact(engine: Engine) -> bool:
    return engine.window.width is None and not engine.step.exact


class _Marked(FastSums):
    @property
    def has_flags(self) -> bool:
        return True

    def flagged(self, rows: Places, columns: Places, start: NDArray[np.float64]) -> Flagged:
        sums = scratch_copy(start, self.carrier)
        marks = scratch_zeros(start.shape, f"i{sums.itemsize}")
        if self.joins:
            sums = scratch_copy(start, start.dtype)
            lowest = 2.0**self.engine.output.min_normal_exponent
            for begin, end, scales in self._chunks(rows, columns):
                parts = scratch_zeros(start.shape, self.carrier)
                self._mark(rows, columns, parts, marks, begin, end)
                matmul_kernels.join_flagged(sums, parts, *scales, self._total, lowest, marks)
        else:
            self._mark(rows, columns, sums, marks, 0, self.depth)
        return Flagged(sums, marks.astype(np.uint8), marks >= matmul_kernels.DOUBTFUL)

    @abc.abstractmethod
    def _mark(
        self, rows: Places, columns: Places, acc: NDArray[Any], marks: NDArray[Any], begin: int, end: int
    ) -> None:
        """Add the products with indices begin..end-1 to the accumulators `acc`, and record flags in `marks`."""


class RoundedChain(_Marked):
    """Matrix-product strategy for accumulators that add one product per step. The kernel computes in float32."""

    carrier = np.float32

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result.format, engine.result.rounding, np.float32)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        precision = engine.result.format.precision
        narrow = 2 * precision + 2 <= BINARY32.precision and _product_bits(a, b) <= precision
        to_nearest = engine.result.rounding is not Rounding.RTZ
        return _is_exact(engine) and engine.step.products == 1 and to_nearest and narrow and _is_in_float32(a, b)

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        matmul_kernels.rounded_chain(a, b, acc, *ends, self._rounder)
        return acc

    def _mark(
        self, rows: Places, columns: Places, acc: NDArray[Any], marks: NDArray[Any], begin: int, end: int
    ) -> None:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        lowest = np.float32(2.0**self.engine.result.format.min_normal_exponent)
        matmul_kernels.rounded_chain_flagged(a, b, acc, marks, *ends, lowest, self._rounder)


class RoundedPairs(_Marked):
    """Matrix-product strategy for accumulators that add one or two products per step."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result.format, engine.result.rounding, np.float64)
        is_held = range_bits(a.span) + range_bits(b.span) <= BINARY64.precision
        self._narrow = engine.step.products == 1 or is_held

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return _is_exact(engine) and engine.step.products <= 2

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        # The kernel computes in float64 and rounds to odd.
        products, neutral = self.engine.step.products, np.full(acc.shape[1], -0.0)
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        matmul_kernels.rounded_pairs(a, b, acc, *ends, products, self._narrow, neutral, self._rounder)
        return acc

    def _mark(
        self, rows: Places, columns: Places, acc: NDArray[Any], marks: NDArray[Any], begin: int, end: int
    ) -> None:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        lowest = 2.0**self.engine.result.format.min_normal_exponent
        matmul_kernels.rounded_pairs_flagged(a, b, acc, marks, *ends, self.engine.step.products, lowest, self._rounder)


class Windowed(FastSums):
    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        general = GeneralSums(engine, a, b, joins)
        self._powers = a.powers, b.columns("powers")
        self._sums = general.sums
        self._rounder = rounder(engine.result.format, engine.result.rounding, np.float64)
        self._kernel = window_kernels.windowed if engine.window.interleaved is None else window_kernels.interleaved

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        # The kernel ignores zeros, so it is wrong for accumulators that align zeros with a higher exponent than a
        # nonzero term.
        return engine.window.width is not None and engine.step.group is None and not zeros_count(engine, a, b)

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        powers = some_of(self._powers, rows, columns, begin, end)[:2]
        self._kernel(self._sums, a, b, *powers, acc, *ends, self._rounder)
        return acc


STRATEGIES: tuple[type[FastSums], ...] = (Chain, RoundedChain, RoundedPairs, Windowed, Exact)
"""Vectorised strategies, in the order in which `first_fitting` tries them."""


def _finite_sums_end_plainly(engine: Engine, a: Span, b: Span) -> bool:
    # All sums are multiples of the lowest bit of the products, so none is flushed if this bit is normal. Callers give
    # no addend with lower bits, and compute infinities and NaN again.
    lowest = engine.lowest_unflushed
    return engine.result.overflow is Overflow.INF and (lowest is None or a.lowest + b.lowest >= lowest)


@functools.lru_cache(maxsize=1024)
def fitting(
    strategies: tuple[type[FastSums], ...], engine: Engine, a: Span, b: Span, joins: bool, depth_bits: int
) -> tuple[type[FastSums], ...]:
    bypasses = engine.nan.zero_bypass and (a.format.nan_is_inf or b.format.nan_is_inf)
    rounds = engine.step.exact or can_round(engine.result.format, engine.result.rounding)
    rounds_totals = not joins or can_round(engine.output, engine.output_rounding)
    special = not _finite_sums_end_plainly(engine, a, b)
    roundings = engine.result.rounding, engine.output_rounding
    to_odd = engine.window.truncation is Truncation.JAM or Rounding.RTO in roundings
    # The strategies keep the sign of a chunk that rounds to zero, but its format may have no -0.
    special |= joins and engine.output.signed_zero and not engine.result.format.signed_zero
    if bypasses or special or not rounds or not rounds_totals:
        return ()
    return tuple(
        strategy
        for strategy in strategies
        if (strategy.rounds_to_odd or not to_odd)
        and (engine.step.exact or carries(engine.result.format, strategy.carrier))
        and strategy.fits(engine, a, b, depth_bits)
    )


def first_fitting(
    strategies: tuple[type[FastSums], ...], engine: Engine, a: Side, b: Side, joins: bool, flags: bool
) -> FastSums | None:
    bits = depth_bits(a.depth)
    for strategy in fitting(strategies, engine, a.span, b.span, joins, bits):
        if strategy.takes(engine, a, b, bits):
            made = strategy(engine, a, b, joins)
            if made.has_flags or not flags:
                return made
    return None
