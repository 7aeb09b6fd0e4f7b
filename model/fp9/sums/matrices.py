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
from fp9.sums import in_numpy
from fp9.sums.operands import Operand, some_of_operand
from fp9.sums.scales import Scales
from fp9.sums.sides import Side, View, side, some_rows
from fp9.system import warming
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

LEFT_NUMBERS, RIGHT_NUMBERS = 1 << 22, 1 << 21
"""Largest number of codes of a factor that are decoded at once, if no operand keeps the decoded numbers.

The right factor is decoded once for each block of rows of the left factor, so these blocks are the larger ones.
"""
_FEWEST_ROWS = 128
"""Fewest rows of a factor that are decoded at once. Kernels are slow with few rows."""
_ALL = slice(None)


class Options(NamedTuple):
    """Options of `dot` and `matmul`."""

    flags: bool
    joins: bool  # whether each chunk's sum is added to a total
    random: RandomBits
    threads: int | None
    progress: Progress | None


class Factor(NamedTuple):
    """Left or right factor of a batch of matrix products."""

    operand: Operand  # shape (..., rows, k)
    scales: Scales | None  # shape (items, rows, blocks), with one item for each matrix product
    block: int | None
    lead: tuple[int, ...] | None
    at_once: int | None  # largest number of codes to decode at once; None decodes all codes and keeps the numbers

    def blocks(self, rows: int) -> list[slice]:
        depth = self.operand.shape[-1]
        if self.at_once is None or rows * depth <= self.at_once:
            return [_ALL]
        length = max(self.at_once // depth, _FEWEST_ROWS)
        return [slice(start, min(start + length, rows)) for start in range(0, rows, length)]

    def item(self, number: int, engine: Engine, rows: slice) -> Side:
        operand, view = self.operand, self._view(number)
        if rows is not _ALL:
            operand, view = some_of_operand(operand, view, rows), _itself
        scale = None if self.scales is None else self.scales.each(lambda array: array[number][rows])
        return side(operand, view, operand.shape[-1], engine, scale, self.block)

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


class _Block(NamedTuple):
    """Block of one matrix product. The arrays are views of shape (rows, columns)."""

    a: Side
    b: Side
    start: NDArray[np.float64]
    codes: NDArray[Any]
    flags: NDArray[np.uint8]
    first: int  # index of the first result among all results of the call


class Products:
    """All matrix products of one call of `matmul`."""

    def __init__(self, engine: Engine, a: Factor, b: Factor, start: NDArray[np.float64], options: Options) -> None:
        self._engine, self._a, self._b, self._start, self._options = engine, a, b, start, options
        self._depth = a.operand.shape[-1]
        # The result codes have the shape (items, rows, columns).
        self.codes, self.flags = outputs(engine, start, self._depth, options.flags, options.random)

    def run(self) -> None:
        items, rows, columns = self._start.shape
        each = rows * columns * self._depth
        if not items * each or self._ran_in_numpy():
            return
        if items == 1 or each >= WORTH_A_THREAD:
            for number in range(items):
                self._by_rows(number, items)
        else:
            _, *sizes = self._prepared(self._item(0))
            parts = row_parts(items, each, self._options.threads, *sizes)
            run_parts(self._whole, parts, self._options.threads, self._options.progress)

    def _ran_in_numpy(self) -> bool:
        if not warming.is_cold():
            return False
        for number, start in enumerate(self._start):
            block = self._item(number)
            found = in_numpy.sums(self._engine, block.a, block.b, start, self._options.joins, in_numpy.MATRIX)
            if found is None:
                return False
            self.codes[number], raised = found
            if self._options.flags:
                self.flags[number] = raised
        if self._options.progress:
            self._options.progress(1.0)
        return True

    def _by_rows(self, number: int, items: int) -> None:
        _, rows, columns = self._start.shape
        of_rows, of_columns = self._a.blocks(rows), self._b.blocks(columns)
        count = items * len(of_rows) * len(of_columns)
        finished = number * (count // items)
        for some in of_rows:
            a = self._a.item(number, self._engine, some)
            for others in of_columns:
                b = self._b.item(number, self._engine, others)
                self._by_parts(self._block(number, a, b, some, others), finished, count)
                finished += 1

    def _by_parts(self, block: _Block, finished: int, count: int) -> None:
        work, *sizes = self._prepared(block)
        progress = self._options.progress
        step = progress and (lambda done: progress((finished + done) / count))
        rows, columns = block.start.shape
        parts = row_parts(rows, columns * self._depth, self._options.threads, *sizes)
        run_parts(work, parts, self._options.threads, step)

    def _whole(self, items: slice) -> None:
        for number in range(items.start, items.stop):
            work, *_ = self._prepared(self._item(number))
            work(slice(0, self._start.shape[1]))

    def _item(self, number: int) -> _Block:
        a, b = self._a.item(number, self._engine, _ALL), self._b.item(number, self._engine, _ALL)
        return self._block(number, a, b, _ALL, _ALL)

    def _block(self, number: int, a: Side, b: Side, rows: slice, columns: slice) -> _Block:
        _, height, width = self._start.shape
        first = (number * height + (rows.start or 0)) * width + (columns.start or 0)
        flags = self.flags[number, rows, columns] if self._options.flags else self.flags
        return _Block(a, b, self._start[number, rows, columns], self.codes[number, rows, columns], flags, first)

    def _prepared(self, block: _Block) -> tuple[Callable[[slice], None], int, int]:
        loaded = slow_to_load()
        a, b, start, codes, flags, _ = block
        fast: FastSums | None = loaded.tiles.fast_sums(self._engine, a, b, self._options.joins, self._options.flags)
        if fast is None:
            return self._stepwise(block), WORTH_A_THREAD_STEPWISE, PRODUCTS
        output, ends_plainly = self._engine.output, self._engine.ends_plainly

        def work(rows: slice) -> None:
            numbers = fast.run(rows, start[rows])
            codes[rows] = loaded.codes.codes_of(numbers, output)
            if not ends_plainly:
                some, columns = np.nonzero(~np.isfinite(numbers))
                self._again(block, rows.start + some, columns)

        def flagged(rows: slice) -> None:
            # A copy, because Numba would compile the kernels again for arrays that are read-only or not contiguous.
            found = fast.flagged(rows, slice(None), np.array(start[rows]))
            codes[rows] = loaded.codes.codes_of(found.numbers, output)
            flags[rows] = found.flags
            self._again(block, rows.start + found.open[0], found.open[1])

        chosen = flagged if self._options.flags else work

        def unless_flushed(rows: slice) -> None:
            (self._stepwise(block) if _may_flush(self._engine, start[rows]) else chosen)(rows)

        kind = type(fast), self._engine.step.products, self._options.flags
        measured = _RATES.measured(kind, unless_flushed, start.shape[1] * self._depth)
        return measured, _RATES.worth(kind, WORTH_A_THREAD), fast.part

    def _again(self, block: _Block, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        if not rows.size:
            return
        a, b = block.a, block.b
        sums = row_sums(self._engine, a, b, self._options.joins)
        step = max(_NUMBERS_AT_A_TIME // self._depth, 1)
        for first in range(0, rows.size, step):
            own = slice(first, first + step)
            place = rows[own], columns[own]
            codes = block.codes[place]
            flags = np.empty(codes.shape, np.uint8)
            scales = some_rows(a.at_sums, rows[own]) * some_rows(b.at_sums, columns[own])
            sums.run(*place, block.start[place], scales, self._options.random, codes, flags)
            block.codes[place] = codes
            if self._options.flags:
                block.flags[place] = flags

    def _stepwise(self, block: _Block) -> Callable[[slice], None]:
        a, b, start, codes, flags, first = block
        sums = row_sums(self._engine, a, b, self._options.joins)
        columns, stride = start.shape[1], self._start.shape[2]
        unasked = np.empty(columns, dtype=np.uint8)

        def work(rows: slice) -> None:
            for i in range(rows.start, rows.stop):
                row, place = slice(i, i + 1), first + i * stride
                random = self._options.random.of(slice(place, place + columns))
                raised = flags[i] if self._options.flags else unasked
                scales = some_rows(a.at_sums, row) * b.at_sums
                sums.run(row, slice(None), np.ascontiguousarray(start[i]), scales, random, codes[i], raised)

        return work


class Loaded(NamedTuple):
    """Python modules that contain compiled kernels for matrix products."""

    codes: Any
    general: Any
    groups: Any
    small: Any
    tiles: Any


@functools.cache
def slow_to_load() -> Loaded:
    # Cached, because even a repeated import takes noticeable time in a small product.
    from fp9.sums import codes, general, groups, small, tiles  # slow to load

    return Loaded(codes, general, groups, small, tiles)


def _may_flush(engine: Engine, addends: NDArray[np.float64]) -> bool:
    if (lowest := engine.lowest_unflushed) is None:
        return False
    # An addend of at least this magnitude has no bit below `lowest`.
    whole = 2.0 ** (lowest + engine.addend_format.precision - 1)
    return bool(((addends != 0) & (np.abs(addends) < whole)).any())


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
    if depth:
        return np.empty(start.shape, dtype=engine.output.dtype), np.zeros(start.shape if flags else 0, dtype=np.uint8)
    # Without products, a result is the rounded addend.
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
