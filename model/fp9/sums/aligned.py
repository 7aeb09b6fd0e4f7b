"""Strategies for matrix products with an alignment window, computed in register tiles."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import NO_EXPONENT, Addend, Engine, Truncation
from fp9.formats import FixedFormat
from fp9.formats.host import BINARY32, BINARY64
from fp9.formats.rounding import Rounding
from fp9.kernels.tiles import aligned as aligned_kernels
from fp9.kernels.tiles import halves as half_kernels
from fp9.kernels.tiles.window_tiles import SAFE_EXPONENT
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder, tiny_below
from fp9.sums.sides import Places, Side
from fp9.sums.strategy import zeros_count
from fp9.sums.tiled import Chunks, Lost, Tiled
from fp9.system.scratch import scratch


class Aligned(Tiled):
    """Strategy for accumulators that align the running sum and the products of a step in one window.

    Alignment truncates toward zero. The sums are computed in float64.
    """

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert engine.window.width is not None
        zero = _zero_exponent(engine, a.span, b.span)
        self._numbers: Any = _numbers(engine, self.carrier, zero)  # type: ignore[arg-type]
        self._rounder: Any = rounder(engine.result.format, engine.result.rounding, self.carrier)  # type: ignore[arg-type]
        self._exponents = a.rows("exponents"), b.columns("exponents")
        fraction_bits = max(engine.result.format.precision, engine.addend_format.precision) - 1
        whole = self._is_often_whole and engine.window.width >= fraction_bits
        self._whole_bits = self._lowest_bits if whole else None

    _flagging = None  # no other strategy for windows computes flags

    _is_often_whole = True
    """Whether a window often holds all bits of a step's terms. Such a step needs no alignment."""

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return (
            _aligns(engine, a, b)
            and engine.window.interleaved is None
            and _holds(engine, engine.window.width, BINARY64.precision)
        )

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        exponents_a, exponents_b = self._exponents
        sums, numbers = scratch(acc.shape, acc.dtype), (self._numbers, self._rounder)
        whole = None if self._whole_bits is None else (self._whole_bits[0][rows], self._whole_bits[1])
        a, b = read_only(self.a[rows], self.b)
        losses = self._losses(rows, lost)
        sides, products = (a, exponents_a[rows], b, exponents_b), (begin, end, chunks.length)
        aligned_kernels.aligned(*numbers, sides, whole, (acc, sums), products, redo, chunks.join, losses)
        return sums

    def _losses(self, rows: Places, lost: Lost) -> Any:
        return None if lost is None else (self._lowest_bits[0][rows], self._lowest_bits[1], lost)

    @functools.cached_property
    def _lowest_bits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        a, b = self._given
        return a.rows("lowest bits"), b.columns("lowest bits")

    @property
    def has_flags(self) -> bool:
        # A zero product must not count as inexact, so its lowest bit must have a larger exponent than every window.
        zero = -NO_EXPONENT - 1
        return super().has_flags and all(zero + side.span.lowest > SAFE_EXPONENT for side in self._given)


class AlignedNarrow(Aligned):
    """Same strategy as `Aligned`, but computed in float32 instead of float64."""

    carrier = np.float32
    _is_often_whole = False

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        rounds = engine.result.rounding is Rounding.RTZ or engine.result.format.precision < BINARY32.precision
        return (
            rounds
            and _aligns(engine, a, b)
            and engine.window.interleaved is None
            and (engine.window.zero_exponent or 0) <= SAFE_EXPONENT
            and _holds(engine, engine.window.width, BINARY32.precision)
        )


class Joined(Aligned):
    """Strategy for accumulators that sum products with even indices and products with odd indices separately."""

    _is_often_whole = False

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert engine.window.width is not None and engine.window.interleaved is not None
        lowest, largest = engine.result.format.lowest_exponent, self.carrier(float(engine.result.format.max))
        tiny = self.carrier(tiny_below(engine.result.format))
        self._numbers = half_kernels.Halves(
            engine.step.products, engine.window.width, engine.window.interleaved, lowest, largest, tiny
        )
        if engine.result.format.native_dtype == "float32" and engine.result.rounding is Rounding.RNE:
            self._rounder = np.float32(0)
        places = np.arange(self.depth)
        self._order = np.lexsort((places, places % engine.step.products % 2, places // engine.step.products))
        self.a = self.a.take(self._order, axis=1)
        self._exponents = self._exponents[0].take(self._order, axis=1), self._exponents[1]

    @functools.cached_property
    def _lowest_bits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        a, b = self._given
        return a.rows("lowest bits").take(self._order, axis=1), b.columns("lowest bits")

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        if not _aligns(engine, a, b) or engine.window.interleaved is None or engine.window.width is None:
            return False
        return _holds(engine, max(engine.window.width, engine.window.interleaved + 1), BINARY64.precision - 1)

    joins_inside = False

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        exponents_a, exponents_b = self._exponents
        sums, sides = scratch(acc.shape, acc.dtype), (self.a[rows], exponents_a[rows], self.b, exponents_b)
        numbers, losses = (self._numbers, self._rounder), self._losses(rows, lost)
        low_a, low_b = self._lowest_bits
        half_kernels.halves(*numbers, sides, (low_a[rows], low_b), (acc, sums), (begin, end), redo, losses)
        return sums


def _aligns(engine: Engine, a: Span, b: Span) -> bool:
    # All exponents must fit in bytes. For the kernels, a zero product must have a lower exponent than every other
    # product.
    plain = engine.window.addend is Addend.INSIDE and engine.window.truncation is Truncation.ZERO
    if engine.window.width is None or engine.step.group is not None or not plain:
        return False
    return NO_EXPONENT + max(a.highest, b.highest) < -SAFE_EXPONENT < a.lowest + b.lowest


def _zero_exponent(engine: Engine, a: Span, b: Span) -> int:
    zero = engine.window.zero_exponent
    return zero if zero is not None and zeros_count(engine, a, b) else NO_EXPONENT


def _holds(engine: Engine, window: int | None, precision: int) -> bool:
    # The running sum of magnitudes starts at 2^(precision - 1) units of the window's lowest bit, and must stay below
    # 2^precision units.
    assert window is not None
    return (4 * engine.step.products + 2) << window <= 1 << (precision - 1)


@functools.lru_cache(maxsize=256)
def _numbers(engine: Engine, carrier: type[np.floating[Any]], zero_exponent: int) -> Any:
    assert isinstance(engine.result.format, FixedFormat) and engine.window.width is not None
    lowest, truncates = engine.result.format.lowest_exponent, engine.result.rounding is Rounding.RTZ
    safe = 2.0**-SAFE_EXPONENT if truncates or lowest < -SAFE_EXPONENT else 0.0
    return aligned_kernels.Aligned(
        engine.step.products,
        engine.window.width,
        lowest,
        zero_exponent,
        truncates,
        carrier(max(safe, 2.0**lowest) if truncates else safe),
        carrier(min(2.0**SAFE_EXPONENT, float(engine.result.format.max))),
        carrier(tiny_below(engine.result.format)),
    )
