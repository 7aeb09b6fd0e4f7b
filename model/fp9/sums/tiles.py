"""Matrix products by kernels of register tiles, away from edges; what meets one takes the kernel for all numbers."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_to
from fp9.casts.sources import read_only
from fp9.engines import NO_EXPONENT, Addend, Engine, Truncation
from fp9.formats import FixedFormat, floor_log2, pow2
from fp9.formats.host import BINARY32, BINARY64
from fp9.kernels import aligned as aligned_kernels
from fp9.kernels import chains as chain_kernels
from fp9.kernels import halves as half_kernels
from fp9.kernels.vectors import tile_columns
from fp9.kernels.window_tiles import SAFE_EXPONENT
from fp9.rounding import Rounding
from fp9.sums.fast import INEXACT, PRODUCTS_OF_TILES, STRATEGIES, FastSums, Flagged, RoundedChain, depth_bits, fitting
from fp9.sums.general import NO_RANDOM, GeneralSums
from fp9.sums.groups import GroupedTiles
from fp9.sums.lattice import lattice
from fp9.sums.operands import Span, bit_range, lowest_bits
from fp9.sums.rounders import rounder, tiny_below
from fp9.sums.sides import NO_POWERS, Places, Side

_MODES = {Rounding.RNE: chain_kernels.NEAREST_EVEN, Rounding.RNA: chain_kernels.NEAREST_AWAY}


class Chunks(NamedTuple):
    """Products of a chunk, and the rounding of the totals that chunks join; None where there is one chunk alone."""

    length: int
    total: Any


Lost = NDArray[Any] | None
"""Integers as wide as the carrier's numbers, set where a step is inexact; None where nobody asks."""


class Tiled(FastSums):
    """Sums of finite numbers; what meets an edge, an infinity or NaN is computed once more by another strategy."""

    part = PRODUCTS_OF_TILES

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._given = a, b
        self._tops = np.abs(self.a).max(axis=1)
        self._special_rows = ~np.isfinite(self._tops)
        self._special_columns = ~np.isfinite(np.abs(self.b).max(axis=0))
        self.a, self.b = (_cleared(x, y) for x, y in ((self.a, self._special_rows), (self.b, self._special_columns)))

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        """Scales may lead numbers out of their formats' ranges."""
        return a.scales is None and b.scales is None

    @abc.abstractmethod
    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        """Accumulators (rows, n) carried through products; sets `redo` (rows, panels) where they are wrong, or where
        flags are asked for, of which inexact steps set `lost`, other flags than this may be raised.
        """

    @functools.cached_property
    def _others(self) -> FastSums:
        """The strategy for all numbers."""
        a, b = self._given
        found = fitting((*STRATEGIES, Stepwise), self.engine, a.span, b.span, self.joins, depth_bits(self.depth))
        return found[0](self.engine, a, b, self.joins)

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        """As the base class has it, all columns at once."""

        def again(own: NDArray[np.intp], some: NDArray[np.intp], start: NDArray[Any]) -> NDArray[Any]:
            return self._others.accumulate(own, some, start.astype(self._others.carrier), begin, end)

        return self._mended(rows, acc, begin, end, Chunks(max(end - begin, 1), None), again)

    def join(self, rows: Places, columns: Places, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """As the base class has it, all columns at once; where scales do not enter, chunks join inside the tiles."""
        if not self._chunks_in_tiles:
            return super().join(rows, columns, totals)
        chunks = Chunks(self.engine.chunk or self.depth, self._joining)
        return self._mended(rows, totals, 0, self.depth, chunks, lambda *cells: self._others.join(*cells))

    joins_inside = True

    @functools.cached_property
    def _chunks_in_tiles(self) -> bool:
        return self.joins_inside and all((scales == 1).all() for scales in self._scales)

    @property
    def has_flags(self) -> bool:
        """Where chunks join, their sums are multiples of the total's lowest step, so that what is tiny is exact."""
        result, output = self.engine.result, self.engine.output
        stepped = self.engine.window is None or (result.subnormals and output.subnormals)
        return not self.joins or (
            self._chunks_in_tiles and stepped and _lowest_step(result) >= _lowest_step(output)
        )

    def flagged(self, rows: slice, start: NDArray[np.float64]) -> Flagged:
        redo = self._no_redo(rows, start)
        lost = np.zeros(start.shape, dtype=f"i{self.b.itemsize}")
        if self.joins:
            chunks, acc = Chunks(self.engine.chunk or self.depth, self._joining), start
        else:
            chunks, acc = Chunks(self.depth, None), start.astype(self.carrier)
        sums = self.tiles(rows, acc, 0, self.depth, redo, chunks, lost)
        unsure = np.repeat(redo, self._panel, axis=1)[:, : start.shape[1]] | self._special_columns
        if self.joins:
            steps = start / 2.0 ** _lowest_step(self.engine.output)
            unsure |= np.floor(steps) != steps
        return Flagged(sums, (lost != 0) * INEXACT, unsure)

    @property
    def _joining(self) -> Any:
        """How totals are rounded, as `kernels.floats.joined` takes it."""
        (lowest, highest), output = bit_range(self.engine.result), self.engine.output
        narrow = lowest >= BINARY32.lowest_quantum and highest <= BINARY32.bias
        own = output.native_dtype == "float32" and self.engine.output_rounding is Rounding.RNE
        return np.float32(0) if own and narrow and self.engine.result.precision <= BINARY32.precision else self._total

    @property
    def _panel(self) -> int:
        """Columns of a panel."""
        return int(tile_columns.py_func(self.b.itemsize))

    def _no_redo(self, rows: Places, acc: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows and panels tiles give no sums of at all."""
        redo = np.zeros((acc.shape[0], -(-acc.shape[1] // self._panel)), dtype=np.bool_)
        return redo | self._special_rows[rows, None]

    def _mended(
        self,
        rows: Places,
        acc: NDArray[Any],
        begin: int,
        end: int,
        chunks: Chunks,
        again: Callable[[NDArray[np.intp], NDArray[np.intp], NDArray[Any]], NDArray[Any]],
    ) -> NDArray[Any]:
        """Sums by tiles, and once more by `again` (rows, columns, accumulators) where these are wrong."""
        redo, width = self._no_redo(rows, acc), self._panel
        sums, own = self.tiles(rows, acc, begin, end, redo, chunks, None), np.arange(self.a.shape[0])[rows]
        everywhere = redo.all(axis=1)
        redo[everywhere] = False
        cells = [(np.flatnonzero(everywhere), np.arange(acc.shape[1]))] if everywhere.any() else []
        cells += [
            (np.flatnonzero(redo[:, panel]), np.arange(panel * width, min((panel + 1) * width, acc.shape[1])))
            for panel in np.flatnonzero(redo.any(axis=0))
        ]
        if self._special_columns.any():
            cells.append((np.arange(acc.shape[0]), np.flatnonzero(self._special_columns)))
        for some, columns in cells:
            sums[np.ix_(some, columns)] = again(own[some], columns, acc[np.ix_(some, columns)])
        return sums


def _cleared(x: NDArray[Any], special: NDArray[np.bool_]) -> NDArray[Any]:
    """The numbers, zero in the place of what is none."""
    return np.where(np.isfinite(x), x, x.dtype.type(0)) if special.any() else x


class Stepwise(FastSums):
    """The kernel of single steps: for all engines and numbers, and slow."""

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
        result = self.engine.result
        codes, flags = np.empty(acc.shape[1], dtype=result.dtype), np.empty(acc.shape[1], dtype=np.uint8)
        for i, sums in enumerate(acc):
            row = slice(i, i + 1)
            aligned = (powers[0][row], powers[1]) if powers else (NO_POWERS, NO_POWERS)
            self._general.sum_rows((left[row], right), aligned, sums, _ONE, NO_RANDOM, codes, flags)
            acc[i] = decode_to(codes, result, np.float64)
        return acc


_ONE = np.ones((1, 1))


class Rounded(Tiled):
    """Steps of one product or several whose sum the carrier holds exactly, rounded to nearest."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert isinstance(engine.result, FixedFormat)
        found = lattice(a, b, _lowest_step(engine.result))
        assert found is not None, "sides that are taken have one"
        self._special_rows |= found.finer_a
        self._special_columns |= found.finer_b
        host, lowest = np.finfo(self.carrier), found.a + found.b
        drop = host.nmant - engine.result.fraction_bits
        # Sums are exact before they are rounded, and 2^drop times one is a number of the carrier.
        exact = 2.0 ** (lowest + host.nmant + 1) if self.carrier is np.float64 else np.inf
        self._numbers = chain_kernels.Rounded(
            engine.products,
            _MODES[engine.rounding],
            drop,
            self.carrier(min(float(engine.result.max), exact, 2.0 ** (host.maxexp - 1 - drop))),
            self.carrier(2.0**lowest),
            self.carrier((1 + 2.0**-engine.result.precision) ** (chain_kernels.BLOCK + 1)),
        )
        length = chain_kernels.block_of.py_func(engine.products)
        self._bounds = np.where(self._special_rows, self.carrier(0), self._tops) * self.carrier(length)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = engine.window is None and not engine.whole and engine.rounding in _MODES
        return plain and max(_range(a), _range(b)) < SAFE_EXPONENT

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        """Most numbers are multiples of a power of two that no rounding of the lowest binades changes."""
        usual = super().takes(engine, a, b, depth_bits)
        return usual and lattice(a, b, _lowest_step(engine.result)) is not None

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        sums, (a, b) = np.empty_like(acc), read_only(self.a[rows], self.b)
        self._kernel(self._numbers, a, self._bounds[rows], b, acc, sums, begin, end, redo, *chunks, None if lost is None else (lost,))
        return sums

    _kernel = staticmethod(chain_kernels.rounded_steps)


class RoundedNarrow(Rounded):
    """One product a step and a result of at most 11 bits, in float32."""

    carrier = np.float32

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return RoundedChain.fits(engine, a, b, depth_bits) and Rounded.fits(engine, a, b, depth_bits)

    def flagged(self, rows: slice, start: NDArray[np.float64]) -> Flagged:
        """As the base class has it; sums of which no mark is set are exact where float32 holds every one on the way."""
        found = super().flagged(rows, start)
        some = (found.flags == 0) & ~found.unsure
        if some.any():
            unmarked = np.nonzero(some)
            own, columns = unmarked[0] + rows.start, unmarked[1]
            found.unsure[unmarked] = ~self._are_held(own, columns, start[unmarked])
        return found

    def _are_held(self, rows: NDArray[np.intp], columns: NDArray[np.intp], c: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether float32 holds all sums of some of the products and c, (cells,)."""
        a, b = (side.rows("lowest bits").min(axis=1).astype(np.int64) for side in self._given)
        last = np.minimum(a[rows] + b[columns], np.where(c == 0, BINARY32.bias, lowest_bits(np.where(c == 0, 1.0, c))))
        sizes = np.abs(self.a).sum(axis=1, dtype=np.float64)[rows] * np.abs(self.b).max(axis=0)[columns]
        return np.asarray((sizes + np.abs(c)) * 2.0**-BINARY32.precision < 2.0**last)

    _kernel = staticmethod(chain_kernels.rounded)


def _lattice(a: Span, b: Span) -> int:
    """Exponent of a power of two that divides every product."""
    return a.lowest + b.lowest


def _range(x: Span) -> int:
    return max(abs(x.lowest), abs(x.highest))


def _lowest_step(result: FixedFormat) -> int:
    """Exponent of the last place of the lowest binade; where there are no subnormal numbers, of the lowest power of two
    that is a number: where zero takes the place of 2^lowest, of the next one.
    """
    if result.subnormals:
        return result.quantum(result.lowest_exponent)
    smallest = result.value_of(result.smallest_code)
    return floor_log2(smallest) + (smallest != pow2(floor_log2(smallest)))


class Aligned(Tiled):
    """Steps with a window and the addend in it, truncated toward zero."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert isinstance(engine.result, FixedFormat) and engine.window is not None
        lowest, truncates = engine.result.lowest_exponent, engine.rounding is Rounding.RTZ
        safe = 2.0**-SAFE_EXPONENT if truncates or lowest < -SAFE_EXPONENT else 0.0
        self._numbers: Any = aligned_kernels.Aligned(
            engine.products,
            engine.window,
            lowest,
            _zero_exponent(engine, a.span, b.span),
            truncates,
            self.carrier(max(safe, 2.0**lowest) if truncates else safe),
            self.carrier(min(2.0**SAFE_EXPONENT, float(engine.result.max))),
            self.carrier(tiny_below(engine.result)),
        )
        self._rounder = rounder(engine.result, engine.rounding, self.carrier)  # type: ignore[arg-type]
        self._exponents = a.rows("exponents"), b.columns("exponents")
        fraction_bits = max(engine.result.precision, engine.addend_format.precision) - 1
        whole = self._is_often_whole and engine.window >= fraction_bits
        self._whole_bits = self._lowest_bits if whole else (None, None)

    _is_often_whole = True
    """Whether a window often holds all bits of a step; asked where it holds those of the addend that it begins with."""

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return _aligns(engine, a, b) and engine.joined is None and _holds(engine, BINARY64.precision)

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        exponents_a, exponents_b = self._exponents
        sums, numbers = np.empty_like(acc), (self._numbers, self._rounder)
        bits_a, bits_b = self._whole_bits
        a, b = read_only(self.a[rows], self.b)
        left, right = (a, exponents_a[rows], None if bits_a is None else bits_a[rows]), (b, exponents_b, bits_b)
        aligned_kernels.aligned(*numbers, *left, *right, acc, sums, begin, end, redo, *chunks, self._losses(rows, lost))
        return sums

    def _losses(self, rows: Places, lost: Lost) -> Any:
        """As kernels of windows take it."""
        return None if lost is None else (self._lowest_bits[0][rows], self._lowest_bits[1], lost)

    @functools.cached_property
    def _lowest_bits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        a, b = self._given
        return a.rows("lowest bits"), b.columns("lowest bits")

    @property
    def has_flags(self) -> bool:
        """The byte that stands for a zero's lowest bit, and a number's, are above all last places of windows."""
        zero = -NO_EXPONENT - 1
        return super().has_flags and all(zero + side.span.lowest > SAFE_EXPONENT for side in self._given)


class AlignedNarrow(Aligned):
    """The same in float32."""

    carrier = np.float32
    _is_often_whole = False

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return _aligns(engine, a, b) and engine.joined is None and _holds(engine, BINARY32.precision)


class Joined(Aligned):
    """Steps that sum even and odd products apart."""

    _is_often_whole = False

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        assert engine.window is not None and engine.joined is not None
        lowest, largest = engine.result.lowest_exponent, self.carrier(float(engine.result.max))
        tiny = self.carrier(tiny_below(engine.result))
        self._numbers = half_kernels.Halves(engine.products, engine.window, engine.joined, lowest, largest, tiny)
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
        return _aligns(engine, a, b) and engine.joined is not None and _holds(engine, BINARY64.precision)

    joins_inside = False

    def tiles(
        self, rows: Places, acc: NDArray[Any], begin: int, end: int, redo: NDArray[np.bool_], chunks: Chunks, lost: Lost
    ) -> NDArray[Any]:
        exponents_a, exponents_b = self._exponents
        sums, left = np.empty_like(acc), (self.a[rows], exponents_a[rows])
        losses = self._losses(rows, lost)
        half_kernels.halves(self._numbers, self._rounder, *left, self.b, exponents_b, acc, sums, begin, end, redo, losses)
        return sums


def _aligns(engine: Engine, a: Span, b: Span) -> bool:
    """Whether exponents are bytes, and the byte that stands for a zero's is below all others."""
    plain = engine.addend is Addend.INSIDE and engine.truncation is Truncation.ZERO
    if engine.window is None or engine.group is not None or not plain:
        return False
    return NO_EXPONENT + max(a.highest, b.highest) < -SAFE_EXPONENT < _lattice(a, b)


def _zero_exponent(engine: Engine, a: Span, b: Span) -> int:
    """The exponent with which a zero is aligned, where it is above that of some number."""
    zero = engine.zero_exponent
    return NO_EXPONENT if zero is None or zero <= _lattice(a, b) else zero


def _holds(engine: Engine, precision: int) -> bool:
    """Whether a sum of all magnitudes stays in the binade of a start at 2^(precision - 1) units of the window."""
    assert engine.window is not None
    return (4 * engine.products + 2) << engine.window <= 1 << (precision - 1)


TILED: tuple[type[FastSums], ...] = (RoundedNarrow, Rounded, AlignedNarrow, Aligned, Joined, GroupedTiles)
"""In the order in which they are tried, before the strategies for all numbers."""


def fast_sums(engine: Engine, a: Side, b: Side, joins: bool) -> FastSums | None:
    """The first strategy that fits; None where only the general kernel does."""
    bits = depth_bits(a.depth)
    found = fitting((*STRATEGIES[:1], *TILED, *STRATEGIES[1:]), engine, a.span, b.span, joins, bits)
    chosen = next((strategy for strategy in found if strategy.takes(engine, a, b, bits)), None)
    return chosen(engine, a, b, joins) if chosen else None
