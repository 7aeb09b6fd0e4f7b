"""Numba kernels of matrix products without a window, in register tiles: fused multiply-adds, rounded after each step.

A step that meets no edge of the result, neither overflow nor the lowest binades, is a rounding to p bits: two or three
instructions. Whether it can is known from bounds, block of K by block: sums of magnitudes against the largest number,
and a common power of two of which all numbers are multiples against the smallest.
"""

from __future__ import annotations

import inspect
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
_ROUNDED_ROWS = 4 if WIDE else 2
"""Of a tile that rounds: most matrices have a multiple of these."""
BLOCK = 64
"""Products between two looks at the accumulators, or somewhat fewer, or one step."""

NEAREST_EVEN, NEAREST_AWAY = range(2)


@inlined
def block_of(products):
    """Products of a block of whole steps."""
    return max(BLOCK // products, 1) * products


class Step(NamedTuple):
    """A power of two, what it is the exponent of, and sums of its multiples."""

    exponent: int
    unit: Any
    ceiling: Any  # sums whose magnitudes stay below it neither overflow nor have too many bits for the carrier


class Rounded(NamedTuple):
    """Steps, and a rounding to nearest to p bits inside a wider float; numbers in the carrier's types."""

    products: int
    mode: int
    scale: Any  # 2^(fraction bits that the result does not have)
    coarse: Step  # sums of its multiples meet no edge of the lowest binades
    fine: Step  # all numbers are multiples of it
    growth: Any  # by which roundings of a block may enlarge a sum
    tiny: Any  # sums below it may be tiny


def _none(_code: Code, x: Any) -> Any:
    return x


def _to_even(code: Code, x: Any, scale: Any) -> Any:
    """x + s and back, s its power of two times 2^drop: the sum's last place is that of the result."""
    sign_and_exponent = code.constant(-1 << code.fraction_bits)
    power = code.as_numbers(code.builder.and_(code.as_bits(x), sign_and_exponent))
    return code.fma(power, code.builder.fneg(scale), code.fma(power, scale, x))


def _away(code: Code, x: Any, scale: Any) -> Any:
    """Half a last place more, by magnitude, and cut; `scale` is 2^drop."""
    one = code.constant(1)
    drop = code.builder.sub(
        code.builder.lshr(code.as_bits(scale), code.constant(code.fraction_bits)),
        code.constant(code.exponent_field >> 1),
    )
    half = code.builder.shl(one, code.builder.sub(drop, one))
    mask = code.builder.neg(code.builder.add(half, half))
    return code.as_numbers(code.builder.and_(code.builder.add(code.as_bits(x), half), mask))


def _at_edge(
    code: Code, x: Any, drop: Any, bias: Any, tie: Any, mask: Any, limit: Any, magic: Any, _tiny: Any
) -> Any:
    """As `floats.Rounder` says, among the lowest binades, too: what is below `limit` is rounded by adding `magic`."""
    builder, bits = code.builder, code.as_bits(x)
    odd = builder.and_(builder.lshr(bits, drop), tie)
    usual = builder.and_(builder.add(bits, builder.add(bias, odd)), mask)
    size = code.magnitude(x)
    small = code.as_bits(builder.fsub(builder.fadd(size, magic), magic))
    small = builder.or_(small, builder.and_(bits, code.constant(-1 << (code.bits - 1))))
    return code.as_numbers(builder.select(builder.fcmp_ordered("<", size, limit), small, usual))


def _changed(code: Code, exact: Any, rounded: Any, *_facts: Any) -> Any:
    """Bits of what a rounding changed."""
    return code.builder.xor(code.as_bits(exact), code.as_bits(rounded))


def _changed_or_tiny(code: Code, exact: Any, rounded: Any, *facts: Any) -> Any:
    """The same, negative for a sum that may be tiny."""
    changed = _changed(code, exact, rounded)
    tiny = code.builder.fcmp_ordered("<=", code.magnitude(exact), facts[-1])
    return code.builder.select(tiny, code.builder.neg(changed), changed)


def _chain(
    rows: int, rounding: Any, facts: int = 0, several: bool = False, mode: int = TO_NEAREST, mark: Any = _changed
) -> Any:
    """A tile: accumulators = round(accumulators + products), a whole number of steps, and marks of inexact ones. Behind
    the products of a step stand so many scalars that the rounding asks for, and where to mark.
    """

    def tile(
        code: Code, a: Any, depth: Any, b: Any, acc: Any, first: Any, row: Any, steps: Any, products: Any, *others: Any
    ) -> None:
        lost, known = others[facts:], [code.splat(x) for x in others[:facts]]
        width = VECTORS * code.lanes
        left = [code.place(code.builder.add(row, code.index(r)), depth, first) for r in range(rows)]
        places = [code.place(code.builder.add(row, code.index(r)), width) for r in range(rows)]
        cells = [code.place(v, code.lanes, place) for place in places for v in range(VECTORS)]
        sums = [code.variable(code.load(acc, cell, code.float)) for cell in cells]
        marks = [code.variable(code.load(x, cell, code.int)) for x in lost for cell in cells]

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
                exact, rounded = total.get(), rounding(code, total.get(), *known)
                total.set(rounded)
                if marks:
                    changed = mark(code, exact, rounded, *known)
                    marks[place].set(code.builder.or_(marks[place].get(), changed))
        for values, array in ((sums, acc), *((marks, x) for x in lost)):
            for value, cell in zip(values, cells, strict=True):
                code.store(value.get(), array, cell)

    tile.__qualname__ = f"chain_{rows}{rounding.__name__}{'_several' if several else ''}"
    return vector_function(tile, carrier=0, rounding=mode)


_EDGE = len(inspect.signature(_at_edge).parameters) - 2

_plain_rows, _plain_row = (_chain(rows, _none) for rows in (_ROWS, 1))
_up_rows, _up_row = (_chain(rows, _none, mode=UPWARD) for rows in (_ROWS, 1))
_down_rows, _down_row = (_chain(rows, _none, mode=DOWNWARD) for rows in (_ROWS, 1))
_even, _even_steps = (_chain(_ROUNDED_ROWS, _to_even, 1, several) for several in (False, True))
_away_, _away_steps = (_chain(_ROUNDED_ROWS, _away, 1, several) for several in (False, True))
_edge, _edge_steps = (_chain(1, _at_edge, _EDGE, several, mark=_changed_or_tiny) for several in (False, True))


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
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        _pack(values, b[first:last], left)
        row = 0
        while row < panel.shape[0]:
            count = _group(row, panel.shape[0])
            if some[row]:
                tile(count == _ROWS, (a, a.shape[1], values, panel, first, row, last - first, 1))
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
def _one_product(mode, some):
    if mode == NEAREST_EVEN:
        _even(some)
    else:
        _away_(some)


@inlined
def _several_products(mode, some):
    if mode == NEAREST_EVEN:
        _even_steps(some)
    else:
        _away_steps(some)


@inlined
def _one_at_edge(some):
    _edge(some)


@inlined
def _several_at_edge(some):
    _edge_steps(some)


@inlined
def _is_finer(unit, row):
    """Whether a number is no multiple of a power of two."""
    met = False
    for x in row:
        steps = x / unit
        met |= np.floor(steps) != steps
    return met


@inlined
def _has_minus_zero(row):
    met = False
    for x in row:
        met |= x == 0.0 and math.copysign(1.0, x) < 0.0
    return met


@inlined
def _are_set(marks, row, columns):
    """Whether all marks of a tile's rows are set, of those columns that a panel has."""
    clear = False
    for i in range(row, row + _ROUNDED_ROWS):
        own = marks[i]
        for j in range(columns):
            clear |= own[j] == 0
    return not clear


@inlined
def _marked(tile, mode, some, marks, row, columns):
    """A tile, with marks where somebody asks, as long as not all of them are set."""
    if marks is None:
        tile(mode, some)
    else:
        _marked_once(tile, mode, some, marks, row, columns)


@inlined
def _marked_once(tile, mode, some, marks, row, columns):
    if _are_set(marks, row, columns):
        tile(mode, some)
    else:
        tile(mode, (*some, marks))


@inlined
def _marked_at_edge(edge, some, marks):
    """A row at an edge, whose marks may also turn negative."""
    if marks is None:
        edge(some)
    else:
        edge((*some, marks))


@inlined
def _steps(tile, edge, s, t, a, values, panel, place, steps, products, single, marks, columns):
    """Steps of a tile that begins with a row, and with a column of a; row by row where it is not whole or at an edge."""
    first, row = place
    if single:
        facts = (t.drop, t.bias, t.tie, t.mask, t.limit, t.magic, s.tiny)
        for i in range(row, min(row + _ROUNDED_ROWS, panel.shape[0])):
            _marked_at_edge(edge, (a, a.shape[1], values, panel, first, i, steps, products, *facts), marks)
    else:
        some = (a, a.shape[1], values, panel, first, row, steps, products, s.scale)
        _marked(tile, s.mode, some, marks, row, columns)


@inlined
def _reach(low_a, low_b, lowest):
    """Whether bits of some products lie below 2^lowest; `low_b` is empty where none does."""
    met = False
    for k in range(low_b.size):
        met |= np.int16(low_a[k]) + np.int16(low_b[k]) < lowest
    return met


@inlined
def _block(tile, edge, s, t, a, low_a, bounds, packed, panel, first, last, redo, fine, marks, columns):
    """Steps of a block of K of all rows of a panel. `fine` says which rows have numbers that are no multiples of the
    coarse step.
    """
    values, low_b = packed
    top = panel.dtype.type(0.0)
    for k in range(last - first):
        top = max(top, largest(values[k]))
    steps = (last - first) // s.products
    rest = last - first - steps * s.products
    for row in range(0, panel.shape[0], _ROUNDED_ROWS):
        end = min(row + _ROUNDED_ROWS, panel.shape[0])
        at_edge = fine[row:end].any() or _reach(low_a[row // _ROUNDED_ROWS, first:last], low_b, s.coarse.exponent)
        ceiling = s.fine.ceiling if at_edge else s.coarse.ceiling
        for i in range(row, end):
            redo[i] |= not (largest(panel[i]) + bounds[i] * top) * s.growth < ceiling
        single = at_edge or row + _ROUNDED_ROWS > end
        _steps(tile, edge, s, t, a, values, panel, (first, row), steps, s.products, single, marks, columns)
        if rest:
            others, place = values[last - first - rest :], (last - rest, row)
            _steps(tile, edge, s, t, a, others, panel, place, 1, rest, single, marks, columns)
        if at_edge:
            _look(s, panel[row:end], redo[row:end], fine[row:end])


@inlined
def _look(s, panel, redo, fine):
    """See which rows of a panel have numbers that are finer than the coarse step, or than all may be."""
    for i in range(panel.shape[0]):
        fine[i] = _is_finer(s.coarse.unit, panel[i]) or _has_minus_zero(panel[i])
        redo[i] |= _is_finer(s.fine.unit, panel[i])


@inlined
def _least_of_rows(low_a):
    """The smallest numbers of the rows of each tile, (tiles, K)."""
    least = np.empty((-(-low_a.shape[0] // _ROUNDED_ROWS), low_a.shape[1]), low_a.dtype)
    for i in range(low_a.shape[0]):
        own, row = least[i // _ROUNDED_ROWS], low_a[i]
        first = i % _ROUNDED_ROWS == 0
        for k in range(row.size):
            own[k] = row[k] if first else min(own[k], row[k])
    return least


@inlined
def _least_of_columns(low_b, left, width):
    """The smallest of some columns, (K,)."""
    least = np.empty(low_b.shape[0], low_b.dtype)
    for k in range(least.size):
        own = low_b[k, left : min(left + width, low_b.shape[1])]
        smallest = own[0]
        for j in range(own.size):
            smallest = min(smallest, own[j])
        least[k] = smallest
    return least


@inlined
def _blocks(tile, edge, s, t, sides, acc, out, begin, end, redo, length, join, tiny, lost):
    a, low_a, bounds, b, low_b = sides
    m, width, block = acc.shape[0], tile_columns(b.itemsize), block_of(s.products)
    panel, values = np.zeros((m, width), b.dtype), np.zeros((block, width), b.dtype)
    totals, fine, least_a = np.empty((m, width), acc.dtype), np.zeros(m, np.bool_), _least_of_rows(low_a)
    for number in range(redo.shape[1]):
        left = number * width
        marks, columns = marks_of(lost, panel), min(width, b.shape[1] - left)
        least_b = _least_of_columns(low_b, left, width)
        values[:] = 0.0
        if join is None:
            take_panel(panel, acc, left)
            _look(s, panel, redo[:, number], fine)
        else:
            take_panel(totals, acc, left)
        for start in range(begin, end, length):
            stop = min(start + length, end)
            for first in range(start, stop, block):
                last = min(first + block, stop)
                _pack(values, b[first:last], left)
                packed, own = (values, least_b[first:last]), redo[:, number]
                _block(tile, edge, s, t, a, least_a, bounds, packed, panel, first, last, own, fine, marks, columns)
            if join is not None:
                join_panel(totals, panel, join, tiny, marks)
                fine[:] = False
        if join is None:
            give_panel(panel, out, left)
        else:
            give_panel(totals, out, left)
        if lost is not None:
            give_panel(marks, lost[-1], left)


@kernel
def rounded(s, t, a, low_a, bounds, b, low_b, acc, out, begin, end, redo, length, join, tiny, lost):
    """out = round(acc + a[:, k] * b[k]), in the order of k, all finite, the sum rounded to the carrier before, then by
    `t`, a `floats.Rounder`.

    `low_a` and `low_b` are bytes, exponents of the lowest bits of a and b; (m, 0) and (0, n) where no product has bits
    below the coarse step. `bounds` (m,) are the largest sums of magnitudes of a over `block_of` products; `redo` (m,
    panels) is set where sums may have met an edge above: these are wrong. `length`, `join`, `tiny` and `lost` as of
    `aligned.aligned`, but no mark is set where sums that the carrier cannot hold were rounded to an accumulator, and
    marks of inexact sums that may be tiny are negative.
    """
    sides = (a, low_a, bounds, b, low_b)
    _blocks(_one_product, _one_at_edge, s, t, sides, acc, out, begin, end, redo, length, join, tiny, lost)


@kernel
def rounded_steps(s, t, a, low_a, bounds, b, low_b, acc, out, begin, end, redo, length, join, tiny, lost):
    """As `rounded`, s.products products a step, whose sum with the accumulator is exact."""
    sides = (a, low_a, bounds, b, low_b)
    _blocks(_several_products, _several_at_edge, s, t, sides, acc, out, begin, end, redo, length, join, tiny, lost)
