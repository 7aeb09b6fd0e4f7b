"""Matrix products by kernels of register tiles, away from edges; what meets one takes the kernel for all numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine
from fp9.formats import FixedFormat
from fp9.formats.host import BINARY32, BINARY64
from fp9.kernels import chains as chain_kernels
from fp9.kernels.window_tiles import SAFE_EXPONENT
from fp9.rounding import Rounding
from fp9.sums.aligned import Aligned, AlignedNarrow, Joined
from fp9.sums.fast import STRATEGIES, RoundedChain, first_fitting
from fp9.sums.groups import GroupedTiles
from fp9.sums.lattice import FEW, lattice
from fp9.sums.operands import Span, lowest_bits
from fp9.sums.sides import Places, Side
from fp9.sums.strategy import FastSums, Flagged, depth_bits
from fp9.sums.tiled import Chunks, Lost, Tiled, lowest_step
from fp9.system.scratch import scratch

_MODES = {Rounding.RNE: chain_kernels.NEAREST_EVEN, Rounding.RNA: chain_kernels.NEAREST_AWAY}


class Rounded(Tiled):
    """Steps of one product or several whose sum the carrier holds exactly, rounded to nearest."""

    few = FEW
    """Share of rows whose sums may round to numbers below the lowest binade: they are computed once more."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert isinstance(engine.result, FixedFormat)
        host, lowest, exact = np.finfo(self.carrier), self._lowest_step(a, b), np.inf
        drop = host.nmant - engine.result.fraction_bits
        # Sums are exact before they are rounded, and 2^drop times one is a number of the carrier.
        if self.carrier is np.float64:
            lowest = max(lowest, min(self._met_step, self._wanted_step))
            exact = 2.0 ** (lowest + BINARY64.precision)
        self._numbers = chain_kernels.Rounded(
            engine.products,
            self._mode,
            drop,
            self.carrier(min(float(engine.result.max), exact, 2.0 ** (host.maxexp - 1 - drop))),
            self.carrier(2.0**lowest),
            self.carrier((1 + 2.0**-engine.result.precision) ** (chain_kernels.BLOCK + 1)),
            self.carrier(2.0**engine.result.min_normal_exponent),
        )
        length = chain_kernels.block_of.py_func(engine.products)
        self._bounds = np.where(self._special_rows, self.carrier(0), self._tops) * self.carrier(length)

    @property
    def _mode(self) -> int:
        return _MODES[self.engine.rounding]

    @property
    def _met_step(self) -> int:
        """The exponent of a power of two of which all products are multiples."""
        return sum(side.met_span.lowest for side in self._given)

    @property
    def _wanted_step(self) -> int:
        """That of one of which float64 holds all sums, though each number were the largest; those of a larger one would
        be of use to no sum, and fewer addends are multiples of it.
        """
        longest = depth_bits(max(self.depth, chain_kernels.BLOCK))
        return sum(side.met_span.highest + 1 for side in self._given) + longest + 1 - BINARY64.precision

    def _lowest_step(self, a: Side, b: Side) -> int:
        """Exponent of what all numbers are multiples of; rows and columns of which they are not count as special."""
        found = lattice(a, b, lowest_step(self.engine.result), self.few)
        assert found is not None, "sides that are taken have one"
        self._special_rows |= found.finer_a
        self._special_columns |= found.finer_b
        return found.a + found.b

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = engine.window is None and not engine.whole and engine.rounding in _MODES
        return plain and max(_range(a), _range(b)) < SAFE_EXPONENT

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        """Most numbers are multiples of a power of two that no rounding of the lowest binades changes."""
        usual = super().takes(engine, a, b, depth_bits)
        return usual and lattice(a, b, lowest_step(engine.result), cls.few) is not None

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        sums, (a, b) = scratch(acc.shape, acc.dtype), read_only(self.a[rows], self.b)
        marks = None if lost is None else (lost,)
        self._kernel(self._numbers, a, self._bounds[rows], b, acc, sums, begin, end, redo, *chunks, marks)
        return sums

    _kernel = staticmethod(chain_kernels.rounded_steps)


class RoundedNarrow(Rounded):
    """One product a step and a result of at most 11 bits, in float32."""

    carrier = np.float32

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return RoundedChain.fits(engine, a, b, depth_bits) and Rounded.fits(engine, a, b, depth_bits)

    def _flagged(self, rows: Places, start: NDArray[np.float64], redo: NDArray[np.bool_]) -> Flagged:
        """As the base class has it; sums of which no mark is set are exact where float32 holds every one on the way."""
        found = super()._flagged(rows, start, redo)
        some = (found.flags == 0) & ~found.unsure
        if some.any():
            unmarked = np.nonzero(some)
            own, columns = np.arange(self.a.shape[0])[rows][unmarked[0]], unmarked[1]
            found.unsure[unmarked] = ~self._are_held(own, columns, start[unmarked])
        return found

    def _are_held(self, rows: NDArray[np.intp], columns: NDArray[np.intp], c: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether float32 holds all sums of some of the products and c, (cells,)."""
        a, b = (side.rows("lowest bits").min(axis=1).astype(np.int64) for side in self._given)
        last = np.minimum(a[rows] + b[columns], np.where(c == 0, BINARY32.bias, lowest_bits(np.where(c == 0, 1.0, c))))
        sizes = np.abs(self.a).sum(axis=1, dtype=np.float64)[rows] * np.abs(self.b).max(axis=0)[columns]
        return np.asarray((sizes + np.abs(c)) * 2.0**-BINARY32.precision < 2.0**last)

    _kernel = staticmethod(chain_kernels.rounded)


class RoundedAbove(RoundedNarrow):
    """The same where no sum rounds to a number below the lowest binade."""

    few = 0.0


class RoundedGradually(RoundedNarrow):
    """The same where sums may round to subnormal numbers. Rounding to float32 first changes none: products of at
    least a quarter of the last place, of at most 11 bits, add to an accumulator below 24 bits, and smaller ones stay
    away from half of it.
    """

    def _lowest_step(self, a: Side, b: Side) -> int:
        return lowest_step(self.engine.result)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        gradual = engine.rounding is Rounding.RNE and engine.result.subnormals
        return gradual and RoundedNarrow.fits(engine, a, b, depth_bits)

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        return Tiled.takes(engine, a, b, depth_bits)

    marks_tiny = True
    _mode = chain_kernels.GRADUALLY
    _kernel = staticmethod(chain_kernels.rounded_gradually)


def _range(x: Span) -> int:
    return max(abs(x.lowest), abs(x.highest))


TILED: tuple[type[FastSums], ...] = (
    RoundedAbove,
    RoundedGradually,
    RoundedNarrow,
    Rounded,
    AlignedNarrow,
    Aligned,
    Joined,
    GroupedTiles,
)
"""In the order in which they are tried, before the strategies for all numbers."""


def fast_sums(engine: Engine, a: Side, b: Side, joins: bool, flags: bool = False) -> FastSums | None:
    """The first strategy that fits, and has flags where they are asked for; None where only the general kernel does."""
    return first_fitting((*STRATEGIES[:1], *TILED, *STRATEGIES[1:]), engine, a, b, joins, flags)
