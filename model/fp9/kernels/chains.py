"""Numba kernels of matrix products without a window, in register tiles: fused multiply-adds, rounded after each step.

A step that meets no edge of the result, neither overflow nor the lowest binades, is a rounding to p bits: two or three
instructions. Whether it can is known from bounds, block of K by block: sums of magnitudes against the largest number,
and a common power of two of which all numbers are multiples against the smallest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.floats import largest
from fp9.kernels.vectors import (
    DOWNWARD,
    TO_NEAREST,
    UPWARD,
    VECTORS,
    WIDE,
    Code,
    give_panel,
    join_panel,
    marks_of,
    take_panel,
    tile_columns,
    vector_function,
)

_ROWS = 5 if WIDE else 2
_FEWER_ROWS = 4 if WIDE else 2
"""Of a rounding that needs more registers."""
BLOCK = 64
"""Products between two looks at the accumulators, or somewhat fewer, or one step."""

NEAREST_EVEN, NEAREST_AWAY, GRADUALLY = range(3)


@inlined
def block_of(products):
    """Products of a block of whole steps."""
    return max(BLOCK // products, 1) * products


class Rounded(NamedTuple):
    """Steps, and a rounding to nearest to p bits inside a wider float; numbers in the carrier's types."""

    products: int
    mode: int
    drop: int  # fraction bits that the result does not have
    ceiling: Any  # sums whose magnitudes stay below it meet no edge
    unit: Any  # what all numbers are multiples of
    growth: Any  # by which roundings of a block may enlarge a sum
    least: Any  # the smallest normal number


def _none(_code: Code, x: Any, _scale: Any, _least: Any) -> Any:
    return x


def _to_even(code: Code, x: Any, scale: Any, _least: Any) -> Any:
    """x + s and back, s its power of two times 2^drop: the sum's last place is that of the result."""
    sign_and_exponent = code.constant(-1 << code.fraction_bits)
    power = code.as_numbers(code.builder.and_(code.as_bits(x), sign_and_exponent))
    return code.fma(power, code.builder.fneg(scale), code.fma(power, scale, x))


def _gradually(code: Code, x: Any, scale: Any, least: Any) -> Any:
    """As `_to_even`, of the smallest normal number's power of two for smaller sums: their last place is a subnormal's.
    Of magnitudes, so that no sum is smaller than its power of two times `scale`, and what becomes 0 has a sign.
    """
    bits, sign = code.as_bits(x), code.constant(-1 << (code.bits - 1))
    exponent = code.builder.and_(bits, code.constant(code.exponent_field << code.fraction_bits))
    power = code.as_numbers(code.larger(exponent, code.as_bits(least)))
    rounded = code.fma(power, code.builder.fneg(scale), code.fma(power, scale, code.magnitude(x)))
    return code.as_numbers(code.builder.or_(code.as_bits(rounded), code.builder.and_(bits, sign)))


def _away(code: Code, x: Any, scale: Any, _least: Any) -> Any:
    """Half a last place more, by magnitude, and cut; `scale` is 2^drop."""
    one = code.constant(1)
    drop = code.builder.sub(
        code.builder.lshr(code.as_bits(scale), code.constant(code.fraction_bits)),
        code.constant(code.exponent_field >> 1),
    )
    half = code.builder.shl(one, code.builder.sub(drop, one))
    mask = code.builder.neg(code.builder.add(half, half))
    return code.as_numbers(code.builder.and_(code.builder.add(code.as_bits(x), half), mask))


def _changed(code: Code, exact: Any, rounded: Any, _least: Any) -> Any:
    """Bits of what a rounding changed."""
    return code.builder.xor(code.as_bits(exact), code.as_bits(rounded))


def _changed_or_tiny(code: Code, exact: Any, rounded: Any, least: Any) -> Any:
    """The same, negative for a sum that may be tiny."""
    changed = _changed(code, exact, rounded, least)
    tiny = code.builder.icmp_signed("<=", code.as_bits(code.magnitude(exact)), code.as_bits(least))
    return code.builder.select(tiny, code.builder.neg(changed), changed)


def _chain(rows: int, rounding: Any, several: bool, mode: int = TO_NEAREST, mark: Any = _changed) -> Any:
    """A tile: accumulators = round(accumulators + products), a whole number of steps, and marks of inexact ones."""

    def tile(
        code: Code, a: Any, depth: Any, b: Any, acc: Any, first: Any, row: Any, steps: Any, products: Any, scale: Any,
        least: Any, *lost: Any,
    ) -> None:  # fmt: skip
        width = VECTORS * code.lanes
        left = [code.place(code.builder.add(row, code.index(r)), depth, first) for r in range(rows)]
        places = [code.place(code.builder.add(row, code.index(r)), width) for r in range(rows)]
        cells = [code.place(v, code.lanes, place) for place in places for v in range(VECTORS)]
        sums = [code.variable(code.load(acc, cell, code.float)) for cell in cells]
        marks = [code.variable(code.load(x, cell, code.int)) for x in lost for cell in cells]
        factor, smallest = code.splat(scale), code.splat(least)

        def add(k: Any) -> None:
            start = code.place(k, width)
            own = [code.load(b, code.place(v, code.lanes, start), code.float) for v in range(VECTORS)]
            for r in range(rows):
                x = code.splat(code.load(a, code.builder.add(left[r], k), code.float.element))
                for y, total in zip(own, sums[r * VECTORS : (r + 1) * VECTORS], strict=True):
                    total.set(code.fma(y, x, total.get()))

        with code.loop(steps) as step:
            if several:
                with code.loop(products) as turn:
                    add(code.place(step, products, turn))
            else:
                add(step)
            for place, total in enumerate(sums):
                exact, rounded = total.get(), rounding(code, total.get(), factor, smallest)
                total.set(rounded)
                if marks:
                    changed = mark(code, exact, rounded, smallest)
                    marks[place].set(code.builder.or_(marks[place].get(), changed))
        for values, array in ((sums, acc), *((marks, x) for x in lost)):
            for value, cell in zip(values, cells, strict=True):
                code.store(value.get(), array, cell)

    tile.__qualname__ = f"chain_{rows}{rounding.__name__}{'_several' if several else ''}"
    return vector_function(tile, carrier=0, rounding=mode)


_plain_rows, _plain_row = (_chain(rows, _none, several=False) for rows in (_ROWS, 1))
_up_rows, _up_row = (_chain(rows, _none, several=False, mode=UPWARD) for rows in (_ROWS, 1))
_down_rows, _down_row = (_chain(rows, _none, several=False, mode=DOWNWARD) for rows in (_ROWS, 1))
_even_rows, _even_row = (_chain(rows, _to_even, several=False) for rows in (_ROWS, 1))
_gradual_rows, _gradual_row = (
    _chain(rows, _gradually, several=False, mark=_changed_or_tiny) for rows in (_FEWER_ROWS, 1)
)
_away_rows, _away_row = (_chain(rows, _away, several=False) for rows in (_ROWS, 1))
_even_steps_rows, _even_steps_row = (_chain(rows, _to_even, several=True) for rows in (_ROWS, 1))
_away_steps_rows, _away_steps_row = (_chain(rows, _away, several=True) for rows in (_ROWS, 1))


@inlined
def _pack(values, b, left):
    """Columns of b from `left` on, as a tile reads them, zeros beyond the last one."""
    count = min(values.shape[1], b.shape[1] - left)
    for k in range(b.shape[0]):
        own, x = values[k], b[k, left : left + count]
        for j in range(count):
            own[j] = x[j]


@inlined
def _nearest(whole, some):
    _plain_rows(some) if whole else _plain_row(some)


@inlined
def _up(whole, some):
    _up_rows(some) if whole else _up_row(some)


@inlined
def _down(whole, some):
    _down_rows(some) if whole else _down_row(some)


@inlined
def _group(row, rows):
    """Rows of the tile that begins with a row."""
    return _ROWS if row + _ROWS <= rows else 1


@inlined
def _added(tile, a, b, panel, values, left, begin, end, some):
    """Carry a panel, columns from `left` on, through products: those tiles of it whose first row is in `some`."""
    one = panel.dtype.type(1.0)
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        _pack(values, b[first:last], left)
        row = 0
        while row < panel.shape[0]:
            count = _group(row, panel.shape[0])
            if some[row]:
                tile(count == _ROWS, (a, a.shape[1], values, panel, first, row, last - first, 1, one, one))
            row += count


@kernel
def plain(a, b, acc, begin, end):
    """acc = acc + a[:, k] * b[k], in the order of k: each sum exact before it is rounded to the carrier."""
    m, width = acc.shape[0], tile_columns(acc.itemsize)
    panel, values, every = np.zeros((m, width), acc.dtype), np.zeros((BLOCK, width), acc.dtype), np.ones(m, np.bool_)
    for left in range(0, acc.shape[1], width):
        take_panel(panel, acc, left)
        _added(_nearest, a, b, panel, values, left, begin, end, every)
        give_panel(panel, acc, left)


@inlined
def _differing(lower, upper, found):
    """Set which numbers of two panels differ, and give the tiles in which some do."""
    m = lower.shape[0]
    some, row = np.zeros(m, np.bool_), 0
    while row < m:
        first = row
        for row in range(first, first + _group(first, m)):
            own, x, y, met = found[row], lower[row], upper[row], False
            for j in range(own.size):
                own[j] = x[j] != y[j]
                met |= x[j] != y[j]
            some[first] |= met
        row += 1
    return some


@kernel
def plain_flagged(a, b, acc, inexact, begin, end):
    """As `plain`, and which accumulators met an inexact step: the first one leads sums that are rounded down and sums
    that are rounded up apart, and no later one leads them together.
    """
    m, width = acc.shape[0], tile_columns(acc.itemsize)
    panels, values = np.zeros((3, m, width), acc.dtype), np.zeros((BLOCK, width), acc.dtype)
    lower, upper, nearest = panels[0], panels[1], panels[2]
    every, found = np.ones(m, np.bool_), np.zeros((m, width), np.bool_)
    for left in range(0, acc.shape[1], width):
        take_panel(lower, acc, left)
        take_panel(upper, acc, left)
        _added(_down, a, b, lower, values, left, begin, end, every)
        _added(_up, a, b, upper, values, left, begin, end, every)
        some = _differing(lower, upper, found)
        if some.any():
            take_panel(nearest, acc, left)
            _added(_nearest, a, b, nearest, values, left, begin, end, some)
            for row in range(m):
                if some[row]:
                    last = row + _group(row, m)
                    upper[row:last] = nearest[row:last]
        give_panel(upper, acc, left)
        give_panel(found, inexact, left)


@inlined
def _one_product(mode, whole, some):
    if mode == NEAREST_EVEN:
        _even_rows(some) if whole else _even_row(some)
    else:
        _away_rows(some) if whole else _away_row(some)


@inlined
def _one_product_gradually(_mode, whole, some):
    _gradual_rows(some) if whole else _gradual_row(some)


@inlined
def _several_products(mode, whole, some):
    if mode == NEAREST_EVEN:
        _even_steps_rows(some) if whole else _even_steps_row(some)
    else:
        _away_steps_rows(some) if whole else _away_steps_row(some)


@inlined
def _starts_at_edge(s, row):
    """Whether an accumulator is no multiple of the unit, too large, or -0."""
    met = False
    for x in row:
        steps = x / s.unit
        met |= not abs(x) < s.ceiling or np.floor(steps) != steps or (x == 0.0 and math.copysign(1.0, x) < 0.0)
    return met


@inlined
def _are_set(marks, row, count, columns):
    """Whether all marks of some rows are set, of those columns that a panel has."""
    clear = False
    for i in range(row, row + count):
        own = marks[i]
        for j in range(columns):
            clear |= own[j] == 0
    return not clear


@inlined
def _marked(tile, rows, s, whole, some, marks, columns):
    """A tile, with marks where somebody asks."""
    if marks is None:
        tile(s.mode, whole, some)
    else:
        _marked_once(tile, rows, s, whole, some, marks, columns)


@inlined
def _marked_once(tile, rows, s, whole, some, marks, columns):
    """A tile with marks, as long as not all of them are set and say all that they may."""
    if s.mode != GRADUALLY and _are_set(marks, some[5], rows if whole else 1, columns):
        tile(s.mode, whole, some)
    else:
        tile(s.mode, whole, (*some, marks))


@inlined
def _block(tile, rows, s, a, bounds, values, panel, first, last, redo, marks, columns):
    """Steps of a block of K of all rows of a panel."""
    top, scale = panel.dtype.type(0.0), panel.dtype.type(1 << s.drop)
    for k in range(last - first):
        top = max(top, largest(values[k]))
    steps = (last - first) // s.products
    rest = last - first - steps * s.products
    row = 0
    while row < panel.shape[0]:
        count = rows if row + rows <= panel.shape[0] else 1
        for i in range(row, row + count):
            redo[i] |= not (largest(panel[i]) + bounds[i] * top) * s.growth < s.ceiling
        some = (a, a.shape[1], values, panel, first, row, steps, s.products, scale, s.least)
        _marked(tile, rows, s, count == rows, some, marks, columns)
        if rest:
            some = (a, a.shape[1], values[last - first - rest :], panel, last - rest, row, 1, rest, scale, s.least)
            _marked(tile, rows, s, count == rows, some, marks, columns)
        row += count


@inlined
def _blocks(tile, rows, s, a, bounds, b, acc, out, begin, end, redo, length, join, lost):
    m, width, block = acc.shape[0], tile_columns(b.itemsize), block_of(s.products)
    panel, values = np.zeros((m, width), b.dtype), np.zeros((block, width), b.dtype)
    totals = np.empty((m, width), acc.dtype)
    for number in range(redo.shape[1]):
        left = number * width
        marks, columns = marks_of(lost, panel), min(width, b.shape[1] - left)
        values[:] = 0.0
        if join is None:
            take_panel(panel, acc, left)
            for i in range(m):
                redo[i, number] |= _starts_at_edge(s, panel[i])
        else:
            take_panel(totals, acc, left)
        for start in range(begin, end, length):
            stop = min(start + length, end)
            for first in range(start, stop, block):
                last = min(first + block, stop)
                _pack(values, b[first:last], left)
                _block(tile, rows, s, a, bounds, values, panel, first, last, redo[:, number], marks, columns)
            if join is not None:
                join_panel(totals, panel, join, marks)
        if join is None:
            give_panel(panel, out, left)
        else:
            give_panel(totals, out, left)
        if lost is not None:
            give_panel(marks, lost[-1], left)


@kernel
def rounded(s, a, bounds, b, acc, out, begin, end, redo, length, join, lost):
    """out = round(acc + a[:, k] * b[k]), in the order of k, all finite, the sum rounded to the carrier before.

    `bounds` (m,) are the largest sums of magnitudes of a over `block_of` products; `redo` (m, panels) is set where sums
    may have met an edge: these are wrong. `length`, `join` and `lost` as of `aligned.aligned`, but no mark is set where
    sums that the carrier cannot hold were rounded to an accumulator.
    """
    _blocks(_one_product, _ROWS, s, a, bounds, b, acc, out, begin, end, redo, length, join, lost)


@kernel
def rounded_gradually(s, a, bounds, b, acc, out, begin, end, redo, length, join, lost):
    """As `rounded`, to nearest even, of a format whose subnormal numbers sums may round to; marks of inexact sums that
    may be tiny are negative.
    """
    _blocks(_one_product_gradually, _FEWER_ROWS, s, a, bounds, b, acc, out, begin, end, redo, length, join, lost)


@kernel
def rounded_steps(s, a, bounds, b, acc, out, begin, end, redo, length, join, lost):
    """As `rounded`, s.products products a step, whose sum with the accumulator is exact."""
    _blocks(_several_products, _ROWS, s, a, bounds, b, acc, out, begin, end, redo, length, join, lost)
