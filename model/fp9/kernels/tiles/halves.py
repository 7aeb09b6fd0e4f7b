"""Numba kernel that adds products of even and of odd index separately, as AMD CDNA3 does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fp9.engines import NO_EXPONENT
from fp9.formats.host import BINARY64
from fp9.kernels.bits import bits_float64, float64_bits
from fp9.kernels.compiled import called, inlined, kernel
from fp9.kernels.floats import floor, rounded
from fp9.kernels.tiles.vectors import (
    TOWARD_ZERO,
    VECTORS,
    Code,
    give_panel,
    marks_of,
    marks_of_row,
    take_panel,
    tile_columns,
    vector_function,
)
from fp9.kernels.tiles.window_tiles import BYTE, PLANES, ROWS, Losses, Window, losses_of, pack, pack_bytes, window_sums

_BIAS, _FRACTION_BITS, _EXPONENT_FIELD = BINARY64.bias, BINARY64.fraction_bits, BINARY64.top_field


class Halves(NamedTuple):
    """Parameters of an accumulator model that adds even and odd products separately."""

    products: int
    window: int
    interleaved: int
    lowest: int  # exponent of the result's lowest binade
    largest: Any  # addends beyond it are no numbers
    tiny: Any  # sums below it may underflow; asked where flags are


@inlined
def _power(exponent):
    return bits_float64((exponent + np.int64(_BIAS)) << np.int64(_FRACTION_BITS))


@inlined
def _exponent(s, x):
    field = (float64_bits(x) >> np.int64(_FRACTION_BITS)) & np.int64(_EXPONENT_FIELD)
    return max(field - np.int64(_BIAS), np.int64(s.lowest))


@inlined
def _joined(s, even, odd, top, c):
    power = _exponent(s, c)
    last, finer = max(top, power), np.int64(s.interleaved + 1 - s.window)
    units = _power(s.window - top)
    first, second = even * units, odd * units
    addend = c * _power(s.window - last)
    own = floor(addend) if power >= last - s.window - 1 else 0.0
    both = (floor(first) + floor(second)) * _power(top - last + finer)
    total = floor(both) + own * _power(finer)
    dropped = (floor(first) != first) | (floor(second) != second) | (own != addend) | (floor(both) != both)
    total *= _power(last - (s.interleaved + 1))
    place = _exponent(s, total) - s.interleaved
    steps = total * _power(-place)
    return floor(steps) * _power(place), dropped | (floor(steps) != steps)


@inlined
def _close(s, t, row, even, odd, tops_even, tops_odd, lost):
    tiny = False
    for j in range(row.size):
        top = np.int64(max(tops_even[j], tops_odd[j]))
        total, dropped = _joined(s, even[j], odd[j], top, row[j])
        # An aligned sum's zero has no sign.
        row[j] = rounded(total, t) + 0.0
        if lost is not None:
            lost[j] |= dropped | (row[j] != total)
            tiny |= abs(total) < s.tiny and total != 0.0
    return tiny | _special(s, row)


@inlined
def _special(s, row):
    met = False
    for x in row:
        met |= not abs(x) <= s.largest
    return met


class TileStep(NamedTuple):
    """Arguments of one step on a register tile: operands, rows, window parameters and result arrays."""

    a: Any
    power_a: Any
    depth: Any
    b: Any
    power_b: Any
    row: Any  # first row
    times: Any  # groups of rows
    first: Any  # first product
    half: Any  # even products
    rest: Any  # odd products
    window: Any
    lowest: Any
    even: Any
    odd: Any
    tops_even: Any
    tops_odd: Any


def _tile(rows: int) -> Any:
    def tile(code: Code, *given: Any) -> None:
        own, lost = TileStep(*given[: len(TileStep._fields)]), given[len(TileStep._fields) :]
        width, none = VECTORS * code.lanes, code.index(NO_EXPONENT)
        other = (
            code.behind(own.b, code.place(own.half, PLANES * width), code.float.element),
            code.behind(own.power_b, code.place(own.half, width), BYTE),
            code.builder.add(own.first, own.half),
        )
        first_half = Window(own.b, own.power_b, own.first, own.half, own.window, own.lowest, none)
        second_half = Window(*other, own.rest, own.window, own.lowest, none)
        losses: list[Losses | None] = [None, None]
        if lost:
            low_a, low_b, marks = lost
            losses = [Losses(*lost), Losses(low_a, code.behind(low_b, code.place(own.half, width), BYTE), marks)]
        halves = ((first_half, own.even, own.tops_even), (second_half, own.odd, own.tops_odd))
        for (step, sums, tops), losses_of_half in zip(halves, losses, strict=True):
            with code.loop(own.times) as turn:
                place = code.place(turn, rows, own.row)
                found = window_sums(code, rows, own.a, own.power_a, own.depth, place, step, None, sums, losses_of_half)
                for r, top in enumerate(found):
                    code.store(top, tops, code.place(code.builder.add(place, code.index(r)), width))

    tile.__qualname__ = f"halves_tile_{rows}"
    return vector_function(tile, carrier=0, rounding=TOWARD_ZERO)


_rows_tile, _row_tile = _tile(ROWS), _tile(1)


@called
def _step(s, t, left_side, packed, panel, found, products, redo, losses, marks):
    (a, power_a), (values, powers), (sums, tops), (first, last) = left_side, packed, found, products
    half = (last - first + 1) // 2
    numbers = (first, half, last - first - half, s.window, s.lowest, sums[0], sums[1], tops[0], tops[1])
    times = panel.shape[0] // ROWS
    some = (a, power_a, a.shape[1], values, powers, 0, times, *numbers)
    _rows_tile(some + losses)
    rest = panel.shape[0] - times * ROWS
    others = (a, power_a, a.shape[1], values, powers, times * ROWS, rest, *numbers)
    _row_tile(others + losses)
    for i in range(panel.shape[0]):
        own = marks_of_row(marks, i)
        redo[i] |= _close(s, t, panel[i], sums[0, i], sums[1, i], tops[0, i], tops[1, i], own)


@kernel
def halves(s, t, sides, sums_of_steps, products, redo, lost):
    """Add products of even and of odd index separately, in steps of `s.products` products, in float64.

    The function has the arguments of `aligned.aligned`, but there are no chunks.
    """
    (a, power_a, b, power_b), (acc, out), (begin, end) = sides, sums_of_steps, products
    m, width = acc.shape[0], tile_columns(acc.itemsize)
    panel, sums = np.empty((m, width)), np.empty((2, m, width))
    tops = np.empty((2, m, width), np.int8)
    for number in range(redo.shape[1]):
        left = number * width
        values = np.zeros((s.products, PLANES, width))
        powers = np.full((s.products, width), np.int8(NO_EXPONENT))
        lows, marks = np.full((s.products, width), np.int8(-NO_EXPONENT - 1)), marks_of(lost, panel)
        take_panel(panel, acc, left)
        for i in range(m):
            redo[i, number] |= _special(s, panel[i])
        for first in range(begin, end, s.products):
            last = min(first + s.products, end)
            pack(values, powers, b[first:last], power_b[first:last], left)
            if lost is not None:
                pack_bytes(lows, lost[1][first:last], left)
            losses = losses_of(lost, lows, marks)
            _step(
                s, t, (a, power_a), (values, powers), panel, (sums, tops), (first, last), redo[:, number], losses, marks
            )
        give_panel(panel, out, left)
        if lost is not None:
            give_panel(marks, lost[-1], left)
