"""Compute batches of matrix products: choose the kernel, and distribute the work to threads."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.arrays import decode_to, encode
from fp9.engines import Engine
from fp9.formats.rounding import Overflow, Rounding
from fp9.sums.operands import Operand
from fp9.sums.scales import Scales
from fp9.sums.sides import Side, View, side, some_rows
from fp9.system.parallel import PRODUCTS, WORTH_A_THREAD, Progress, Rates, row_parts, run_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.casts.random_bits import RandomBits
    from fp9.sums.general import GeneralSums
    from fp9.sums.groups import GroupedSums
    from fp9.sums.strategy import FastSums

WORTH_A_THREAD_STEPWISE = 1 << 15
"""Smallest number of products for which a further thread saves time with the general kernel."""

_NUMBERS_AT_A_TIME = 1 << 20
_RATES = Rates()


class Options(NamedTuple):
    """Options of `dot` and `matmul`. If `joins` is true, each chunk's sum is added to a total."""

    flags: bool
    joins: bool
    random: RandomBits
    threads: int | None
    progress: Progress | None


class Factor(NamedTuple):
    """Left or right factor of a batch of matrix products.

    `operand` has the shape (..., rows, k). `scales` has the shape (items, rows, blocks), with one item for each matrix
    product.
    """

    operand: Operand
    scales: Scales | None
    block: int | None
    lead: tuple[int, ...] | None

    def item(self, number: int, engine: Engine) -> Side:
        scale = None if self.scales is None else self.scales.each(lambda array: array[number])
        return side(self.operand, self._view(number), self.operand.shape[-1], engine, scale, self.block)

    def _view(self, number: int) -> View:
        own = self.operand.shape[:-2]
        if not own:
            return _itself
        if self.lead is None:
            return lambda array: array.reshape(-1, array.shape[-1])
        places = np.unravel_index(number, self.lead)[len(self.lead) - len(own) :]
        index = tuple(int(place) if count > 1 else 0 for place, count in zip(places, own, strict=True))
        return lambda array: array[index]


def _itself(array: NDArray[Any]) -> NDArray[Any]:
    return array


class Products:
    """All matrix products of one call of `matmul`. `codes` has the shape (items, rows, columns)."""

    def __init__(self, engine: Engine, a: Factor, b: Factor, start: NDArray[np.float64], options: Options) -> None:
        self._engine, self._a, self._b, self._start, self._options = engine, a, b, start, options
        self._depth = a.operand.shape[-1]
        self.codes, self.flags = outputs(engine, start, self._depth, options.flags, options.random)

    def run(self) -> None:
        items, rows, columns = self._start.shape
        each = rows * columns * self._depth
        if not items * each:
            return
        if items == 1 or each >= WORTH_A_THREAD:
            for number in range(items):
                self._by_rows(number, items)
        else:
            _, *sizes = self._prepared(0)
            parts = row_parts(items, each, self._options.threads, *sizes)
            run_parts(self._whole, parts, self._options.threads, self._options.progress)

    def _by_rows(self, number: int, items: int) -> None:
        _, rows, columns = self._start.shape
        work, *sizes = self._prepared(number)
        progress = self._options.progress
        step = progress and (lambda done: progress((number + done) / items))
        parts = row_parts(rows, columns * self._depth, self._options.threads, *sizes)
        run_parts(work, parts, self._options.threads, step)

    def _whole(self, items: slice) -> None:
        for number in range(items.start, items.stop):
            work, *_ = self._prepared(number)
            work(slice(0, self._start.shape[1]))

    def _prepared(self, number: int) -> tuple[Callable[[slice], None], int, int]:
        loaded = slow_to_load()
        a, b = self._a.item(number, self._engine), self._b.item(number, self._engine)
        fast: FastSums | None = loaded.tiles.fast_sums(self._engine, a, b, self._options.joins, self._options.flags)
        if fast is None:
            return self._stepwise(number, a, b), WORTH_A_THREAD_STEPWISE, PRODUCTS
        codes, start, output = self.codes[number], self._start[number], self._engine.output

        def work(rows: slice) -> None:
            codes[rows] = loaded.codes.codes_of(fast.run(rows, start[rows]), output)

        def flagged(rows: slice) -> None:
            found = fast.flagged(rows, slice(None), start[rows])
            codes[rows] = loaded.codes.codes_of(found.numbers, output)
            self.flags[number, rows] = found.flags
            self._again(number, a, b, rows.start + found.open[0], found.open[1])

        kind = type(fast), self._engine.step.products, self._options.flags
        chosen = _RATES.measured(kind, flagged if self._options.flags else work, self._start.shape[2] * self._depth)
        return chosen, _RATES.worth(kind, WORTH_A_THREAD), fast.part

    def _again(self, number: int, a: Side, b: Side, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        if not rows.size:
            return
        sums = row_sums(self._engine, a, b, self._options.joins)
        step = max(_NUMBERS_AT_A_TIME // self._depth, 1)
        for first in range(0, rows.size, step):
            own = slice(first, first + step)
            place = (number, rows[own], columns[own])
            codes, flags = self.codes[place], self.flags[place]
            scales = some_rows(a.at_sums, rows[own]) * some_rows(b.at_sums, columns[own])
            sums.run(*place[1:], self._start[place], scales, self._options.random, codes, flags)
            self.codes[place], self.flags[place] = codes, flags

    def _stepwise(self, number: int, a: Side, b: Side) -> Callable[[slice], None]:
        sums = row_sums(self._engine, a, b, self._options.joins)
        _, count, columns = self._start.shape
        codes, start, asked = self.codes[number], self._start[number], self._options.flags
        unasked = np.empty(columns, dtype=np.uint8)

        def work(rows: slice) -> None:
            for i in range(rows.start, rows.stop):
                row, place = slice(i, i + 1), (number * count + i) * columns
                random = self._options.random.of(slice(place, place + columns))
                raised = self.flags[number, i] if asked else unasked
                scales = some_rows(a.at_sums, row) * b.at_sums
                sums.run(row, slice(None), start[i], scales, random, codes[i], raised)

        return work


class Loaded(NamedTuple):
    """Modules with kernels."""

    codes: Any
    general: Any
    groups: Any
    tiles: Any


@functools.cache
def slow_to_load() -> Loaded:
    # Cached, because even a repeated import takes noticeable time in a small product.
    from fp9.sums import codes, general, groups, tiles  # slow to load

    return Loaded(codes, general, groups, tiles)


def row_sums(engine: Engine, a: Side, b: Side, joins: bool) -> GeneralSums | GroupedSums:
    loaded = slow_to_load()
    sums: GeneralSums | GroupedSums
    if engine.step.group is None:
        sums = loaded.general.GeneralSums(engine, a, b, joins)
    else:
        sums = loaded.groups.GroupedSums(engine, a, b)
    return sums


def outputs(
    engine: Engine, start: NDArray[np.float64], depth: int, flags: bool, random: RandomBits
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return arrays for result codes and exception flags. Without products, they already contain the results."""
    if depth:
        return np.empty(start.shape, dtype=engine.output.dtype), np.zeros(start.shape if flags else 0, dtype=np.uint8)
    codes, raised = _sums_of_no_products(engine, start.reshape(-1), random)
    return codes.reshape(start.shape), raised.reshape(start.shape) if flags else raised[:0]


def _sums_of_no_products(
    engine: Engine, start: NDArray[np.float64], random: RandomBits
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    # An addend with too many bits is truncated, or rounded if the accumulator sums exactly.
    from fp9.sums.general import rounded_addends  # slow to load

    if engine.step.exact:
        return rounded_addends(engine, start, random)
    codes = encode(start, engine.output, Rounding.RTZ, Overflow.INF)
    nan = engine.output.nan_code(False) if engine.nan.code is None else engine.nan.code
    codes[np.isnan(decode_to(codes, engine.output, np.float64))] = nan
    return codes, np.zeros(codes.shape, dtype=np.uint8)


def is_one_product(a: Operand, b: Operand, scale_b: Any, block: int | None) -> bool:
    scale_is_common = scale_b is None or np.ndim(scale_b) <= (2 if block else 1)
    return math.prod(b.shape[:-2]) == 1 and scale_is_common
