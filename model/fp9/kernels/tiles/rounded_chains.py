"""Numba kernels for matrix products in register tiles; each accumulation step rounds the sums.

Bounds of the sums show whether a sum can overflow, and whether it can have bits in the lowest binades, where rounding
is slower.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.floats import largest
from fp9.kernels.tiles.chain_tiles import (
    BLOCK,
    at_edge,
    away,
    away_anywhere,
    changed_or_tiny,
    flushed_in_bits,
    pack,
    rounding_tile,
    subnormals_in_bits,
    to_even,
    to_even_anywhere,
)
from fp9.kernels.tiles.vectors import WIDE, give_panel, join_panel, marks_of, take_panel, tile_columns

_ROWS = 4 if WIDE else 2

NEAREST_EVEN, NEAREST_AWAY = range(2)
SUBNORMALS, FLUSHED = range(2)
"""Modes of `rounded_steps_watched`: what becomes of the numbers of the lowest binades."""


@inlined
def block_of(products):
    return max(BLOCK // products, 1) * products


class Step(NamedTuple):
    """Power of two `unit` = 2^`exponent`. Sums of multiples of `unit` are exact if they stay below `ceiling`."""

    exponent: int
    unit: Any
    ceiling: Any  # sums whose magnitudes stay below it neither overflow nor have too many bits for the carrier


class Rounded(NamedTuple):
    """Constants with which a kernel rounds floating-point sums to the nearest number of a narrower result format."""

    products: int
    mode: int
    # Numbers have the float type of the sums.
    facts: tuple[Any, ...]  # constants of the tile's rounding function
    coarse: Step  # sums of its multiples meet no edge of the lowest binades
    fine: Step  # all numbers are multiples of it
    growth: Any  # by which roundings of a block may enlarge a sum
    tiny: Any  # sums below it may be tiny
    doubt: Any  # 1 where a tiny sum may have bits that the carrier does not hold, else 0; an integer as wide


_FACTS = 8

_even, _even_steps = (rounding_tile(_ROWS, to_even, 1, several) for several in (False, True))
_away, _away_steps = (rounding_tile(_ROWS, away, 1, several) for several in (False, True))
_even_anywhere, _away_anywhere = (
    rounding_tile(_ROWS, rounding, 4, mark=changed_or_tiny) for rounding in (to_even_anywhere, away_anywhere)
)
_edge, _edge_steps = (rounding_tile(1, at_edge, _FACTS, several, mark=changed_or_tiny) for several in (False, True))


_subnormals_watched, _subnormals_watched_row, _flushed_watched, _flushed_watched_row = (
    rounding_tile(rows, rounding, _FACTS, several=True, mark=changed_or_tiny, watched=True)
    for rounding in (subnormals_in_bits, flushed_in_bits)
    for rows in (_ROWS, 1)
)

# A function for a tile returns whether a sum may be wrong.


@inlined
def _one_product(mode, some):
    if mode == NEAREST_EVEN:
        _even(some)
    else:
        _away(some)
    return False


@inlined
def _several_products(mode, some):
    if mode == NEAREST_EVEN:
        _even_steps(some)
    else:
        _away_steps(some)
    return False


@inlined
def _one_anywhere(mode, some):
    if mode == NEAREST_EVEN:
        _even_anywhere(some)
    else:
        _away_anywhere(some)
    return False


@inlined
def _several_watched(mode, some):
    if mode == SUBNORMALS:
        return _subnormals_watched(some)
    return _flushed_watched(some)


@inlined
def _one_at_edge(_mode, some):
    _edge(some)
    return False


@inlined
def _several_at_edge(_mode, some):
    _edge_steps(some)
    return False


@inlined
def _several_watched_in_a_row(mode, some):
    if mode == SUBNORMALS:
        return _subnormals_watched_row(some)
    return _flushed_watched_row(some)


@inlined
def _is_finer(unit, row):
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
    clear = False
    for i in range(row, row + _ROWS):
        own = marks[i]
        for j in range(columns):
            clear |= own[j] == 0
    return not clear


@inlined
def _marked(tile, s, some, marks, row, columns):
    if marks is None:
        return tile(s.mode, some)
    return _marked_once(tile, s, some, marks, row, columns)


@inlined
def _marked_once(tile, s, some, marks, row, columns):
    if _meets_no_edge(s) and _are_set(marks, row, columns):
        return tile(s.mode, some)
    return tile(s.mode, (*some, marks))


@inlined
def _meets_no_edge(s):
    # Tiles for sums of all binades must mark tiny sums, even if they are marked as inexact.
    return len(s.facts) == 1


@inlined
def _marked_at_edge(edge, mode, some, marks):
    if marks is None:
        return edge(mode, some)
    return edge(mode, (*some, marks))


@inlined
def _steps(tile, edge, s, t, numbers, panel, redo, step, single, marks, columns):
    # Rows are computed one by one in incomplete tiles and in tiles with very small sums.
    (a, values), (first, row, steps, products) = numbers, step
    if single:
        facts = (t.drop, t.bias, t.tie, t.mask, t.limit, t.magic, s.tiny, s.doubt)
        for i in range(row, min(row + _ROWS, panel.shape[0])):
            one = (a, a.shape[1], values, panel, first, i, steps, products, *facts)
            redo[i] |= _marked_at_edge(edge, s.mode, one, marks)
    else:
        some = (a, a.shape[1], values, panel, first, row, steps, products, *s.facts)
        if _marked(tile, s, some, marks, row, columns):
            redo[row : row + _ROWS] = True


@inlined
def _reach(low_a, low_b, lowest):
    met = False
    for k in range(low_b.size):
        met |= np.int16(low_a[k]) + np.int16(low_b[k]) < lowest
    return met


@inlined
def _block(tile, edge, s, t, left_side, packed, panel, found, marks, columns):
    (a, low_a, bounds), (values, low_b, first, last), (redo, fine) = left_side, packed, found
    top = panel.dtype.type(0.0)
    for k in range(last - first):
        top = max(top, largest(values[k]))
    steps = (last - first) // s.products
    rest = last - first - steps * s.products
    for row in range(0, panel.shape[0], _ROWS):
        end = min(row + _ROWS, panel.shape[0])
        low = fine[row:end].any() or _reach(low_a[row // _ROWS, first:last], low_b, s.coarse.exponent)
        ceiling = s.fine.ceiling if low else s.coarse.ceiling
        for i in range(row, end):
            redo[i] |= not (largest(panel[i]) + bounds[i] * top) * s.growth < ceiling
        single = low or row + _ROWS > end
        _steps(tile, edge, s, t, (a, values), panel, redo, (first, row, steps, s.products), single, marks, columns)
        if rest:
            others, step = (a, values[last - first - rest :]), (last - rest, row, 1, rest)
            _steps(tile, edge, s, t, others, panel, redo, step, single, marks, columns)
        if low:
            _look(s, panel[row:end], redo[row:end], fine[row:end])


@inlined
def _look(s, panel, redo, fine):
    for i in range(panel.shape[0]):
        fine[i] = _is_finer(s.coarse.unit, panel[i]) or _has_minus_zero(panel[i])
        redo[i] |= _is_finer(s.fine.unit, panel[i])


@inlined
def _least_of_rows(low_a):
    least = np.empty((-(-low_a.shape[0] // _ROWS), low_a.shape[1]), low_a.dtype)
    for i in range(low_a.shape[0]):
        own, row = least[i // _ROWS], low_a[i]
        first = i % _ROWS == 0
        for k in range(row.size):
            own[k] = row[k] if first else min(own[k], row[k])
    return least


@inlined
def _least_of_columns(low_b, left, width):
    least = np.empty(low_b.shape[0], low_b.dtype)
    for k in range(least.size):
        own = low_b[k, left : min(left + width, low_b.shape[1])]
        smallest = own[0]
        for j in range(own.size):
            smallest = min(smallest, own[j])
        least[k] = smallest
    return least


@inlined
def _bounds(a, block):
    # For a row, the bound is its largest magnitude times the number of products in a block.
    bounds = np.empty(a.shape[0], a.dtype)
    for i in range(bounds.size):
        bounds[i] = largest(a[i]) * a.dtype.type(block)
    return bounds


@inlined
def _blocks(tile, edge, s, t, sides, sums, products, redo, join, lost):
    ((a, low_a), (b, low_b)), (acc, out), (begin, end, length) = sides, sums, products
    m, width, block = acc.shape[0], tile_columns(b.itemsize), block_of(s.products)
    bounds = _bounds(a[:, begin:end], block)
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
                pack(values, b[first:last], left)
                own, packed = (a, least_a, bounds), (values, least_b[first:last], first, last)
                _block(tile, edge, s, t, own, packed, panel, (redo[:, number], fine), marks, columns)
            if join is not None:
                join_panel(totals, panel, join[0], join[1], marks)
                fine[:] = False
        if join is None:
            give_panel(panel, out, left)
        else:
            give_panel(totals, out, left)
        if lost is not None:
            give_panel(marks, lost[-1], left)


@kernel
def rounded(s, t, sides, sums, products, redo, join, lost):
    """For each k in order, add a[:, k] * b[k] to the accumulators, and round the accumulators."""
    # All numbers must be finite. The arguments are those of `aligned.aligned`, except for `sides` and `lost`.
    # `sides`: a tuple of `a` (m, k) and a tuple of `b` (k, n), each with the exponents (bytes) of the lowest nonzero
    # bits. The exponent arrays are empty, (m, 0) and (0, n), if every product is a multiple of `s.coarse.unit`.
    # `lost`: a single array (m, n), which receives a nonzero integer if rounding changes the float sum. An inexact
    # float addition alone does not set the integer.
    _blocks(_one_product, _one_at_edge, s, t, sides, sums, products, redo, join, lost)


@kernel
def rounded_anywhere(s, t, sides, sums, products, redo, join, lost):
    """Compute `rounded`, with the same speed for sums in the lowest binades."""
    _blocks(_one_anywhere, _one_at_edge, s, t, sides, sums, products, redo, join, lost)


@kernel
def rounded_steps(s, t, sides, sums, products, redo, join, lost):
    """Add `s.products` products a[:, k] * b[k] at a time to the accumulators, and round once after each group."""
    _blocks(_several_products, _several_at_edge, s, t, sides, sums, products, redo, join, lost)


@kernel
def rounded_steps_watched(s, t, sides, sums, products, redo, join, lost):
    """Compute `rounded_steps` in float64, and set `redo` if an exact sum has more bits."""
    _blocks(_several_watched, _several_watched_in_a_row, s, t, sides, sums, products, redo, join, lost)
