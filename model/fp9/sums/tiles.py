"""Matrix products in register tiles, for accumulators without an alignment window."""

from __future__ import annotations

import abc
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine
from fp9.formats import FixedFormat
from fp9.formats.host import BINARY32, BINARY64, HostFloat
from fp9.formats.rounding import Rounding
from fp9.kernels.compiled import Direct
from fp9.kernels.tiles import rounded_chains as chain_kernels
from fp9.kernels.tiles.chain_tiles import BLOCK
from fp9.kernels.tiles.vectors import CAN_WATCH
from fp9.kernels.tiles.window_tiles import SAFE_EXPONENT
from fp9.sums.aligned import Aligned, AlignedNarrow, Jammed, Joined
from fp9.sums.exact import Exact
from fp9.sums.fast import STRATEGIES, RoundedChain, first_fitting
from fp9.sums.groups import GroupedTiles
from fp9.sums.lattice import finer_rows
from fp9.sums.operands import Span, lowest_bits
from fp9.sums.rounders import can_round, carries, rounder, tiny_below
from fp9.sums.sides import Places, Side
from fp9.sums.strategy import FastSums, Flagged, Problem, Unpacked, depth_bits
from fp9.sums.tiled import Chunks, Lost, SmallTiles, Tiled, lowest_step
from fp9.system.scratch import scratch

_LONGEST = 11
"""Most bits of the number of products of an exact sum in tiles. The cache holds the columns of a tile."""

_MODES = {Rounding.RNE: chain_kernels.NEAREST_EVEN, Rounding.RNA: chain_kernels.NEAREST_AWAY}


class Rounded(Tiled):
    """Matrix-product strategy for accumulators that add the products of a step exactly and then round to nearest."""

    held_bits: float = BINARY64.precision
    """Number of significand bits that the kernel's sums must not exceed, or infinity."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._constants = self._constants_of(engine, self.depth, *_ends(a, b))
        self._lowest_bits = self._lowest_bits_below(self._constants[0].coarse.exponent)
        self._mark_finer(a, b)

    def _mark_finer(self, a: Side, b: Side) -> None:
        finer = finer_rows(a, b, self._constants[0].fine.exponent)
        assert finer is not None, "`takes` has checked the number of masked rows"
        self._mark_special(*finer)

    def _lowest_bits_below(self, step: int) -> list[NDArray[Any]]:
        # If all products are multiples of 2^step, the kernel needs no exponents.
        a, b = self._given
        if a.span.lowest + b.span.lowest >= step or _lowest(a, b) >= step:
            return self._no_exponents()
        return read_only(a.rows("lowest bits"), b.columns("lowest bits"))

    def _no_exponents(self) -> list[NDArray[Any]]:
        nothing = np.empty(0, dtype=np.int8)
        return read_only(nothing.reshape(self.a.shape[0], 0), nothing.reshape(0, self.b.shape[1]))

    @classmethod
    def _constants_of(cls, engine: Engine, depth: int, lowest: int, highest: int) -> tuple[Any, Any]:
        coarse, fine = cls._steps(engine, depth, lowest, highest)
        t = rounder(engine.result.format, engine.result.rounding, cls.carrier)  # type: ignore[arg-type]
        doubts_tiny = cls._doubts_tiny(engine, lowest)
        return _numbers(engine, cls.carrier, cls.held_bits, coarse, fine, doubts_tiny), t  # type: ignore[arg-type]

    @classmethod
    def _doubts_tiny(cls, engine: Engine, lowest: int) -> bool:
        return False

    @classmethod
    def _steps(cls, engine: Engine, depth: int, lowest: int, highest: int) -> tuple[int, int]:
        # A nonzero sum of multiples of the coarse step is never in the lowest binades of the result format. All numbers
        # are multiples of the fine step, except in the rows and columns marked as special. The coarse step must be so
        # large that float64 holds all sums of the largest products.
        fine = _fine_step(engine, lowest, highest)
        return max(lowest_step(engine.result.format), fine, min(lowest, _held_step(highest, depth))), fine

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return not engine.step.exact and _is_plain(engine, a, b)

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        # A few rows may contain numbers with lower bits.
        return finer_rows(a, b, _fine_step(engine, *_ends(a, b))) is not None

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        sums, (low_a, low_b) = scratch(acc.shape, acc.dtype), self._lowest_bits
        a, low_a, b = read_only(self.a[rows], low_a[rows], self.b)
        marks = None if lost is None else (lost,)
        sides, products = ((a, low_a), (b, low_b)), (begin, end, chunks.length)
        self._kernel(*self._constants, sides, (acc, sums), products, redo, chunks.join, marks)
        return sums

    @classmethod
    def small_tiles(cls, problem: Problem) -> SmallTiles | None:
        lowest_of_formats, kernel = problem.a.lowest + problem.b.lowest, Direct(cls._kernel)

        @functools.lru_cache(maxsize=64)
        def constants_of(lowest: int, highest: int) -> tuple[Any, Any, bool]:
            numbers, t = cls._constants_of(problem.engine, problem.depth, lowest, highest)
            return numbers, t, max(lowest_of_formats, lowest) >= numbers.coarse.exponent

        def tiles(x: Unpacked, sums: Any, ends: Any, redo: Any, join: Any, lost: Lost) -> bool:
            numbers, t, is_coarse = constants_of(x.lowest, x.highest)
            if x.lowest < numbers.fine.exponent:
                return False
            (a, _, low_a), (b, _, low_b) = x.a, x.b
            if is_coarse:
                low_a, low_b = low_a[:, :0], low_b[:0]
            marks = None if lost is None else (lost,)
            kernel(numbers, t, ((a, low_a), (b, low_b)), sums, ends, redo, join, marks)
            return True

        return tiles

    _kernel = staticmethod(chain_kernels.rounded_steps)


class _OneProduct(Rounded):
    """Base class of strategies for accumulators that add one product per step, and whose float sums may be inexact."""

    held_bits = math.inf
    host: HostFloat = BINARY64
    """The format of the kernel's sums."""

    @classmethod
    def _doubts_tiny(cls, engine: Engine, lowest: int) -> bool:
        return lowest < math.log2(tiny_below(engine.result.format)) - cls.host.precision

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
        return np.asarray((sizes + np.abs(c)) * 2.0**-self.host.precision < 2.0**last)


class RoundedNarrow(_OneProduct):
    """Matrix-product strategy for accumulators that add one product per step. The kernel computes in float32."""

    # If results have at most 11 significand bits, an inexact float32 sum is far from every midpoint, so double rounding
    # is harmless.
    carrier, host = np.float32, BINARY32

    @classmethod
    def _steps(cls, engine: Engine, depth: int, lowest: int, highest: int) -> tuple[int, int]:
        return lowest_step(engine.result.format), BINARY32.lowest_quantum

    def _mark_finer(self, a: Side, b: Side) -> None:
        """Mark no rows, because all products are multiples of float32's smallest subnormal number."""

    @classmethod
    def small_tiles(cls, problem: Problem) -> SmallTiles | None:
        return None if problem.flags else super().small_tiles(problem)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return RoundedChain.fits(engine, a, b, depth_bits) and Rounded.fits(engine, a, b, depth_bits)

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        return True  # no row is marked

    _kernel = staticmethod(chain_kernels.rounded)


class _Wide(Rounded):
    """Base class of strategies for wide numbers, whose sums may have bits that float64 does not hold."""

    held_bits = math.inf

    def _lowest_bits_below(self, step: int) -> list[NDArray[Any]]:
        return self._no_exponents()  # the kernels round sums in the lowest binades as other sums

    @classmethod
    def _constants_of(cls, engine: Engine, depth: int, lowest: int, highest: int) -> tuple[Any, Any]:
        numbers, t = super()._constants_of(engine, depth, lowest, highest)
        mode = chain_kernels.FLUSHED if engine.result.format.flushes else chain_kernels.SUBNORMALS
        return numbers._replace(facts=cls._facts(numbers, t), mode=mode), t

    @staticmethod
    @abc.abstractmethod
    def _facts(numbers: chain_kernels.Rounded, t: Any) -> tuple[Any, ...]:
        """Return the constants of the tile's rounding."""

    @staticmethod
    @abc.abstractmethod
    def _step(engine: Engine, lowest: int, highest: int) -> int:
        """Return the exponent of a unit, of which the numbers of all rows but a few must be multiples."""

    @classmethod
    def _steps(cls, engine: Engine, depth: int, lowest: int, highest: int) -> tuple[int, int]:
        step = cls._step(engine, lowest, highest)
        return step, step

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        # `Rounded` is faster if it needs no exponents.
        lowest, highest = _ends(a, b)
        coarse, _ = Rounded._steps(engine, a.depth, lowest, highest)
        return lowest < coarse and finer_rows(a, b, cls._step(engine, lowest, highest)) is not None


class RoundedWide(_OneProduct, _Wide):
    """Matrix-product strategy for accumulators that add one product of wide numbers per step, in float64."""

    # A float64 sum is inexact only if one of its two terms is far larger than the other. If the accumulator is larger,
    # the sum is far from every midpoint. If the product is larger, it can be a midpoint. The sum is then on the right
    # side of the midpoint, unless the accumulator is less than half a last place of the product.

    @staticmethod
    def _facts(numbers: chain_kernels.Rounded, t: Any) -> tuple[Any, ...]:
        return *numbers.facts, t.limit, numbers.tiny, numbers.doubt

    @staticmethod
    def _step(engine: Engine, lowest: int, highest: int) -> int:
        # If accumulators are zero or at least half a last place of the largest product, the last place being that of
        # float64, all numbers may be multiples of any lower step.
        half_a_place, places = highest + 2 - BINARY64.precision, _places(engine, lowest)
        return places if lowest_step(engine.result.format) >= half_a_place else max(places, half_a_place)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        if engine.step.products > 1 or not Rounded.fits(engine, a, b, depth_bits):
            return False
        result = engine.result
        low = result.format.subnormals or result.rounding is Rounding.RNA
        return low and result.format.precision + a.precision + b.precision < BINARY64.precision - 4

    @classmethod
    def small_tiles(cls, problem: Problem) -> SmallTiles | None:
        return None  # `Rounded` serves these small products

    _kernel = staticmethod(chain_kernels.rounded_anywhere)


class RoundedWatched(_Wide):
    """Matrix-product strategy for accumulators that add several products of wide numbers per step.

    The processor's inexact flag shows whether float64 holds all sums of a tile. An exact sum is a single long step.
    """

    @staticmethod
    def _facts(numbers: chain_kernels.Rounded, t: Any) -> tuple[Any, ...]:
        return t.drop, t.bias, t.tie, t.mask, t.limit, t.magic, numbers.tiny, numbers.doubt

    @staticmethod
    def _step(engine: Engine, lowest: int, highest: int) -> int:
        return _places(engine, lowest)

    @classmethod
    def _constants_of(cls, engine: Engine, depth: int, lowest: int, highest: int) -> tuple[Any, Any]:
        numbers, t = super()._constants_of(engine, depth, lowest, highest)
        return numbers._replace(products=depth) if engine.step.exact else numbers, t

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        result = engine.result
        if engine.step.exact and not (can_round(result.format, result.rounding) and carries(result.format, np.float64)):
            return False
        several = depth_bits <= _LONGEST if engine.step.exact else engine.step.products > 1
        return CAN_WATCH and several and _is_plain(engine, a, b)

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        if engine.step.exact and Exact.is_whole(a.span, b.span, depth_bits):
            return False
        return super().takes(engine, a, b, depth_bits)

    @classmethod
    def small_tiles(cls, problem: Problem) -> SmallTiles | None:
        is_whole = Exact.is_whole(problem.a, problem.b, depth_bits(problem.depth))
        if is_whole or not problem.engine.step.exact:
            return None  # `Exact` and `Rounded` serve these small products
        return super().small_tiles(problem)

    _kernel = staticmethod(chain_kernels.rounded_steps_watched)


@functools.lru_cache(maxsize=256)
def _numbers(
    engine: Engine, carrier: type[np.floating[Any]], held_bits: float, coarse: int, fine: int, doubts_tiny: bool
) -> chain_kernels.Rounded:
    result, numbers = engine.result.format, np.finfo(carrier)
    assert isinstance(result, FixedFormat)
    drop = int(numbers.nmant) - result.fraction_bits
    # A magnitude below the ceiling, times 2^drop, must be exact in the wider float type.
    largest = min(float(result.max), 2.0 ** (numbers.maxexp - 1 - drop))

    def step(exponent: int) -> chain_kernels.Step:
        return chain_kernels.Step(
            exponent, carrier(2.0**exponent), carrier(min(largest, 2.0 ** (exponent + held_bits)))
        )

    return chain_kernels.Rounded(
        engine.step.products,
        _MODES[engine.result.rounding],
        (carrier(2.0**drop),),
        step(coarse),
        step(fine),
        carrier((1 + 2.0**-result.precision) ** (BLOCK + 1)),
        carrier(tiny_below(result)),
        rounder(result, engine.result.rounding, carrier).mask.dtype.type(doubts_tiny),  # type: ignore[arg-type]
    )


def _lowest(a: Side, b: Side) -> int:
    return a.met_span.lowest + b.met_span.lowest


def _ends(a: Side, b: Side) -> tuple[int, int]:
    return _lowest(a, b), a.met_span.highest + b.met_span.highest


def _held_step(highest: int, depth: int) -> int:
    """Return the smallest exponent e such that float64 holds any sum of `depth` products in units of 2^e."""
    return highest + 2 + depth_bits(max(depth, BLOCK)) + 1 - BINARY64.precision


def _fine_step(engine: Engine, lowest: int, highest: int) -> int:
    # In this unit, float64 holds the sum of any block of products.
    return max(_places(engine, lowest), _held_step(highest, BLOCK))


def _places(engine: Engine, lowest: int) -> int:
    """Return the exponent of a unit, of which all products and accumulators are multiples."""
    return min(lowest, engine.result.format.quantum(engine.result.format.lowest_exponent))


def _is_plain(engine: Engine, a: Span, b: Span) -> bool:
    plain = engine.window.width is None and engine.result.rounding in _MODES
    return plain and max(_range(a), _range(b)) < SAFE_EXPONENT


def _range(x: Span) -> int:
    return max(abs(x.lowest), abs(x.highest))


TILED: tuple[type[FastSums], ...] = (
    RoundedNarrow,
    RoundedWide,
    RoundedWatched,
    Rounded,
    AlignedNarrow,
    Aligned,
    Jammed,
    Joined,
    GroupedTiles,
)
"""Strategies with register tiles, in the order in which `fast_sums` tries them."""


EVERY_STRATEGY = (*STRATEGIES[:1], *TILED, *STRATEGIES[1:])


def fast_sums(engine: Engine, a: Side, b: Side, joins: bool, flags: bool = False) -> FastSums | None:
    """Return the first strategy that is bit-exact for the operands, or None."""
    return first_fitting(EVERY_STRATEGY, engine, a, b, joins, flags)
