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
from fp9.kernels.compiled import Direct
from fp9.kernels.tiles import aligned as aligned_kernels
from fp9.kernels.tiles import halves as half_kernels
from fp9.kernels.tiles.window_tiles import SAFE_EXPONENT
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder, tiny_below
from fp9.sums.sides import Places, Side
from fp9.sums.strategy import Problem, Unpacked, zeros_count
from fp9.sums.tiled import Chunks, Lost, SmallTiles, Tiled
from fp9.system.scratch import scratch


class Aligned(Tiled):
    """Matrix-product strategy for accumulators that align the running sum and a step's products in one window."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._constants = self._constants_of(engine, a.span, b.span)
        self._exponents = a.rows("exponents"), b.columns("exponents")
        self._whole_bits = self._lowest_bits if self._is_often_whole(engine) else None

    @classmethod
    def _constants_of(cls, engine: Engine, a: Span, b: Span) -> tuple[Any, Any]:
        numbers = _numbers(engine, cls.carrier, _zero_exponent(engine, a, b))  # type: ignore[arg-type]
        return numbers, rounder(engine.result.format, engine.result.rounding, cls.carrier)  # type: ignore[arg-type]

    @staticmethod
    def _is_often_whole(engine: Engine) -> bool:
        # With so wide a window, many steps drop no bit and need no alignment.
        return _holds_addends(engine)

    _flagging = None  # no other strategy for windows computes flags

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
        sums = scratch(acc.shape, acc.dtype)
        whole = None if self._whole_bits is None else (self._whole_bits[0][rows], self._whole_bits[1])
        a, b = read_only(self.a[rows], self.b)
        losses = self._losses(rows, lost)
        sides, products = (a, exponents_a[rows], b, exponents_b), (begin, end, chunks.length)
        aligned_kernels.aligned(*self._constants, sides, whole, (acc, sums), products, redo, chunks.join, losses)
        return sums

    def _losses(self, rows: Places, lost: Lost) -> Any:
        return None if lost is None else (self._lowest_bits[0][rows], self._lowest_bits[1], lost)

    @functools.cached_property
    def _lowest_bits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        a, b = self._given
        return a.rows("lowest bits"), b.columns("lowest bits")

    @property
    def has_flags(self) -> bool:
        return super().has_flags and _has_low_zeros(*(side.span for side in self._given))

    @classmethod
    def small_tiles(cls, problem: Problem) -> SmallTiles | None:
        if problem.flags and not _has_low_zeros(problem.a, problem.b):
            return None
        constants, aligned = cls._constants_of(problem.engine, problem.a, problem.b), Direct(aligned_kernels.aligned)
        is_often_whole = cls._is_often_whole(problem.engine)

        def tiles(x: Unpacked, sums: Any, ends: Any, redo: Any, join: Any, lost: Lost) -> bool:
            (a, power_a, low_a), (b, power_b, low_b) = x.a, x.b
            whole, losses = (low_a, low_b) if is_often_whole else None, None if lost is None else (low_a, low_b, lost)
            aligned(*constants, (a, power_a, b, power_b), whole, sums, ends, redo, join, losses)
            return True

        return tiles


class AlignedNarrow(Aligned):
    carrier = np.float32

    @staticmethod
    def _is_often_whole(_engine: Engine) -> bool:
        return False

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


class Jammed(Aligned):
    """Matrix-product strategy for accumulators that OR dropped bits of a term into the term's last bit."""

    rounds_to_odd = True

    @classmethod
    def _constants_of(cls, engine: Engine, a: Span, b: Span) -> tuple[Any, Any]:
        numbers, t = super()._constants_of(engine, a, b)
        if numbers.smallest >= t.limit:  # smaller sums are computed again, so the kernel rounds no subnormal sum
            t = t._replace(limit=cls.carrier(0))
        return aligned_kernels.Jammed(*numbers), t

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return (
            _aligns(engine, a, b, Truncation.JAM)
            and engine.window.interleaved is None
            and a.precision + b.precision <= BINARY64.precision
            and _holds(engine, engine.window.width, BINARY64.precision)
        )


class Joined(Aligned):
    """Matrix-product strategy for accumulators that sum products with even and with odd indices separately."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._order = self.order_of_a(engine, self.depth)
        self.a, exponents = read_only(*(x.take(self._order, axis=1) for x in (self.a, self._exponents[0])))
        self._exponents = exponents, self._exponents[1]

    @staticmethod
    def order_of_a(engine: Engine, depth: int) -> NDArray[np.intp]:
        places, products = np.arange(depth), engine.step.products
        return np.lexsort((places, places % products % 2, places // products))

    @classmethod
    def _constants_of(cls, engine: Engine, a: Span, b: Span) -> tuple[Any, Any]:
        result, window = engine.result, engine.window
        assert window.width is not None and window.interleaved is not None
        largest, tiny = cls.carrier(float(result.format.max)), cls.carrier(tiny_below(result.format))
        numbers = half_kernels.Halves(
            engine.step.products, window.width, window.interleaved, result.format.lowest_exponent, largest, tiny
        )
        own = result.format.native_dtype == "float32" and result.rounding is Rounding.RNE
        return numbers, np.float32(0) if own else rounder(result.format, result.rounding, np.float64)

    @staticmethod
    def _is_often_whole(_engine: Engine) -> bool:
        return False

    @classmethod
    def small_tiles(cls, problem: Problem) -> SmallTiles | None:
        if problem.flags and not _has_low_zeros(problem.a, problem.b):
            return None
        constants, halves = cls._constants_of(problem.engine, problem.a, problem.b), Direct(half_kernels.halves)

        def tiles(x: Unpacked, sums: Any, ends: Any, redo: Any, _join: Any, lost: Lost) -> bool:
            (a, power_a, low_a), (b, power_b, low_b) = x.a, x.b
            losses = None if lost is None else (low_a, low_b, lost)
            halves(*constants, (a, power_a, b, power_b), (low_a, low_b), sums, ends[:2], redo, losses)
            return True

        return tiles

    @functools.cached_property
    def _lowest_bits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        a, b = self._given
        (own,) = read_only(a.rows("lowest bits").take(self._order, axis=1))
        return own, b.columns("lowest bits")

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        if not _aligns(engine, a, b) or engine.window.interleaved is None or engine.window.width is None:
            return False
        if not _holds_addends(engine):  # steps in which the kernel aligns no product must not truncate the addend
            return False
        return _holds(engine, max(engine.window.width, engine.window.interleaved + 1), BINARY64.precision - 1)

    joins_inside = False

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        exponents_a, exponents_b = self._exponents
        sums, sides = scratch(acc.shape, acc.dtype), (self.a[rows], exponents_a[rows], self.b, exponents_b)
        losses, (low_a, low_b) = self._losses(rows, lost), self._lowest_bits
        half_kernels.halves(*self._constants, sides, (low_a[rows], low_b), (acc, sums), (begin, end), redo, losses)
        return sums


def _aligns(engine: Engine, a: Span, b: Span, truncation: Truncation = Truncation.ZERO) -> bool:
    # All exponents must fit in bytes. For the kernels, a zero product must have a lower exponent than every other
    # product.
    plain = engine.window.addend is Addend.INSIDE and engine.window.truncation is truncation
    if engine.window.width is None or engine.step.group is not None or not plain:
        return False
    return NO_EXPONENT + max(a.highest, b.highest) < -SAFE_EXPONENT < a.lowest + b.lowest


def _holds_addends(engine: Engine) -> bool:
    assert engine.window.width is not None
    return engine.window.width >= max(engine.result.format.precision, engine.addend_format.precision) - 1


def _has_low_zeros(a: Span, b: Span) -> bool:
    # A zero product must not count as inexact, so its lowest bit must have a larger exponent than every window.
    return min(a.lowest, b.lowest) - NO_EXPONENT - 1 > SAFE_EXPONENT


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
