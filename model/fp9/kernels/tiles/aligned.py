"""Numba kernels for matrix products with an alignment window, in register tiles (see `window_tiles`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from fp9.engines import NO_EXPONENT
from fp9.kernels.compiled import called, inlined, kernel
from fp9.kernels.floats import masked, rounded
from fp9.kernels.tiles.vectors import (
    TOWARD_ZERO,
    Code,
    give_panel,
    join_panel,
    marks_of,
    take_panel,
    tile_columns,
    vector_function,
)
from fp9.kernels.tiles.window_tiles import (
    PLANES,
    ROWS,
    Ends,
    Losses,
    Window,
    binades,
    ends_of_columns,
    ends_of_products,
    ends_of_steps,
    is_whole,
    jammed_sums,
    losses_of,
    pack,
    pack_bytes,
    store_sums,
    whole_sums,
    window_sums,
)


class Aligned(NamedTuple):
    """Parameters of an accumulator model with an alignment window."""

    products: int
    window: int
    lowest: int  # exponent of the result's lowest binade: smaller addends are aligned as numbers of it
    zero: int  # exponent with which a zero is aligned; NO_EXPONENT where it is below all others
    truncates: bool
    # The numbers below have the type of the accumulators.
    smallest: Any  # magnitudes within which no sum meets an edge of result or carrier; 0 always does well
    largest: Any
    tiny: Any  # sums below it may underflow; asked where flags are


class TileStep(NamedTuple):
    """Arguments of one accumulation step on a tile of accumulators in registers."""

    a: Any
    power_a: Any
    depth: Any
    b: Any
    power_b: Any
    acc: Any
    row: Any  # first row
    times: Any  # groups of rows
    first: Any  # first product
    count: Any  # products
    window: Any
    lowest: Any
    zero: Any


class Jammed(Aligned):
    """Parameters of an accumulator model whose window ORs the bits that it drops from a term into the last bit."""

    __slots__ = ()


def _tile(rows: int, cut_sums: Any) -> Any:
    def tile(code: Code, *given: Any) -> None:
        own, others = TileStep(*given[: len(TileStep._fields)]), given[len(TileStep._fields) :]
        count_of_ends = len(others) - len(Losses._fields) if len(others) >= len(Losses._fields) else len(others)
        ends, lost = others[:count_of_ends], others[count_of_ends:]
        losses = Losses(*lost) if lost else None
        step = Window(own.b, own.power_b, own.first, own.count, own.window, own.lowest, own.zero)
        with code.loop(own.times) as turn:
            place = code.place(turn, rows, own.row)
            aligned_sums = (code, rows, own.a, own.power_a, own.depth, place, step, own.acc, losses)
            if not ends:
                store_sums(code, cut_sums(*aligned_sums)[1], own.acc, place)
            else:
                with code.builder.if_else(is_whole(code, rows, own.acc, place, step, Ends(*ends))) as (whole, cut):
                    with whole:
                        sums = whole_sums(code, rows, own.a, own.depth, place, step, own.acc)
                        store_sums(code, sums, own.acc, place)
                    with cut:
                        store_sums(code, cut_sums(*aligned_sums)[1], own.acc, place)

    tile.__qualname__ = f"{cut_sums.__name__}_{rows}"
    return vector_function(tile, carrier=0, rounding=TOWARD_ZERO)


_TILES = {
    Aligned: (_tile(ROWS, window_sums), _tile(1, window_sums)),
    Jammed: (_tile(ROWS, jammed_sums), _tile(1, jammed_sums)),
}
"""For each kind of window, the tile of several rows and the tile of one row."""


def _add(s: Any, together: Any, single: Any) -> None:
    raise NotImplementedError("a part of kernels")


@overload(_add, jit_options={"forceinline": True})
def _typed_add(s, together, single):
    rows_tile, row_tile = _TILES[s.instance_class]

    def add(s, together, single):
        rows_tile(together)
        row_tile(single)

    return add


@inlined
def _close(s, t, row):
    if s.truncates:
        for j in range(row.size):
            row[j] = masked(row[j], t.mask)
    else:
        zero = row.dtype.type(0.0)  # an aligned sum's zero has no sign
        for j in range(row.size):
            row[j] = rounded(row[j], t) + zero
    return _edges(s, row)


@inlined
def _mark(s, t, row, lost):
    tiny = False
    for j in range(row.size):
        lost[j] |= (masked(row[j], t.mask) if s.truncates else rounded(row[j], t)) != row[j]
        tiny |= abs(row[j]) < s.tiny and row[j] != 0.0
    return tiny


@inlined
def _edges(s, row):
    met = False
    for j in range(row.size):
        size = abs(row[j])
        met |= not size <= s.largest or (size < s.smallest and size != 0.0)
    return met


@called
def _steps(s, t, some, others, marks):
    a, power_a, values, powers, panel, first, last, redo = some
    numbers, sides = (first, last - first, s.window, s.lowest, s.zero), (a, power_a, a.shape[1])
    times = panel.shape[0] // ROWS
    together = (*sides, values, powers, panel, 0, times, *numbers)
    single = (*sides, values, powers, panel, times * ROWS, panel.shape[0] - times * ROWS, *numbers)
    _add(s, together + others, single + others)
    for i in range(panel.shape[0]):
        if marks is not None:
            redo[i] |= _mark(s, t, panel[i], marks[i])
        redo[i] |= _close(s, t, panel[i])


@kernel
def aligned(s, t, sides, lowest_bits, sums, products, redo, join, lost):
    """Add products to accumulators in steps of `s.products` products, with an alignment window."""
    # All numbers must be finite.
    # `sides`: `a` (m, k), the alignment exponents of `a` (bytes), `b` (k, n), and the alignment exponents of `b`.
    # `sums`: the initial accumulators (m, n), and the output (m, n).
    # `products`: the first product index, the end of the index range, and the chunk length in products.
    # `redo` (m, panels of columns): set where a row of a panel contains wrong sums or unknown flags.
    # `lowest_bits`: exponents of the lowest nonzero bits in `a` (m, k) and in `b` (k, n), or None.
    # `lost`: the same exponents, and an output (m, n) that is nonzero for inexact results, or None. A negative integer
    # means that the total may be tiny (IEEE 754), so that the underflow flag is unknown.
    # `join`: constants for rounding the total of all chunks, and the largest magnitude at which this total may be tiny,
    # or None.
    (a, power_a, b, power_b), (acc, out), (begin, end, length) = sides, sums, products
    m, width = acc.shape[0], tile_columns(b.itemsize)
    panel, totals = np.zeros((m, width), b.dtype), np.empty((m, width), acc.dtype)
    if lowest_bits is not None:
        low_a, low_b = lowest_bits
        ends = ends_of_steps(power_a, low_a, begin, end, length, s.products)
        of_columns, near = np.empty((2, s.products), np.int8), s.window - binades(s.products)
        highest, lowest = np.empty(m, np.int64), np.empty(m, np.int64)
    for number in range(redo.shape[1]):
        left = number * width
        values = np.zeros((s.products, PLANES, width), b.dtype)
        powers = np.full((s.products, width), np.int8(NO_EXPONENT))
        lows, marks = np.full((s.products, width), np.int8(-NO_EXPONENT - 1)), marks_of(lost, panel)
        if join is None:
            take_panel(panel, acc, left)
            for i in range(m):
                redo[i, number] |= _edges(s, panel[i])
        else:
            take_panel(totals, acc, left)
        step = 0
        for start in range(begin, end, length):
            stop = min(start + length, end)
            for first in range(start, stop, s.products):
                last = min(first + s.products, stop)
                pack(values, powers, b[first:last], power_b[first:last], left)
                some = (a, power_a, values, powers, panel, first, last, redo[:, number])
                if lost is not None:
                    pack_bytes(lows, lost[1][first:last], left)
                losses = losses_of(lost, lows, marks)
                if lowest_bits is None:
                    _steps(s, t, some, losses, marks)
                else:
                    columns = slice(left, min(left + width, b.shape[1]))
                    ends_b = ends_of_columns(of_columns, power_b[first:last, columns], low_b[first:last, columns])
                    own = power_a[:, first:last], low_a[:, first:last]
                    ends_of_products(ends[step], *own, of_columns, *ends_b, near, highest, lowest)
                    _steps(s, t, some, (highest, lowest, *losses), marks)
                step += 1
            if join is not None:
                join_panel(totals, panel, join[0], join[1], marks)
        if join is None:
            give_panel(panel, out, left)
        else:
            give_panel(totals, out, left)
        if lost is not None:
            give_panel(marks, lost[-1], left)
