"""Numba kernel that sums products of even index and products of odd index separately, as AMD CDNA3 does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fp9.engines import NO_EXPONENT
from fp9.kernels.compiled import called, inlined, kernel
from fp9.kernels.floats import rounded
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
from fp9.kernels.tiles.window_tiles import (
    BYTE,
    PLANES,
    ROWS,
    Ends,
    Losses,
    Sums,
    Window,
    binades,
    ends_of_columns,
    ends_of_products,
    ends_of_steps,
    is_whole,
    losses_of,
    pack,
    pack_bytes,
    store_sums,
    whole_sums,
    window_sums,
)


class Halves(NamedTuple):
    """Parameters of an accumulator model that separately sums products of even and of odd index."""

    products: int
    window: int
    interleaved: int
    lowest: int  # exponent of the result's lowest binade
    largest: Any  # addends beyond it are no numbers
    tiny: Any  # sums below it may underflow; asked where flags are


@inlined
def _close(s, t, row, lost):
    tiny = False
    if lost is not None:
        for j in range(row.size):
            lost[j] |= rounded(row[j], t) != row[j]
            tiny |= abs(row[j]) < s.tiny and row[j] != 0.0
    for j in range(row.size):
        # An aligned sum's zero has no sign.
        row[j] = rounded(row[j], t) + 0.0
    return tiny | _special(s, row)


@inlined
def _special(s, row):
    met = False
    for x in row:
        met |= not abs(x) <= s.largest
    return met


class TileStep(NamedTuple):
    """Arguments of one accumulation step on a tile of accumulators in vector registers."""

    a: Any
    power_a: Any
    depth: Any
    b: Any
    power_b: Any
    acc: Any
    row: Any  # first row
    times: Any  # groups of rows
    first: Any  # first product
    half: Any  # even products
    rest: Any  # odd products
    window: Any
    interleaved: Any
    lowest: Any


class _Floors:
    """Emitter of code that aligns two partial sums and an addend, rounds them down, and adds them."""

    def __init__(self, code: Code, own: TileStep) -> None:
        self._code, self._fraction = code, code.index(code.fraction_bits)
        self._field = code.constant(code.exponent_field << code.fraction_bits)
        self._bias = code.index(code.exponent_field >> 1)
        builder = code.builder
        self._lowest = self._powers(builder.add(own.lowest, self._bias))
        self._reach = self._powers(builder.add(own.window, code.index(1)))
        # The bit pattern of 1.5 * 2^(52 + u) is the bit pattern of 2^(52 + u) plus a constant.
        self._window, self._total, self._result = (
            builder.add(self._powers(builder.sub(self._fraction, bits)), code.constant(1 << (code.fraction_bits - 1)))
            for bits in (own.window, builder.add(own.interleaved, code.index(1)), own.interleaved)
        )

    def _powers(self, exponent: Any) -> Any:
        return self._code.splat(self._code.builder.shl(exponent, self._fraction))

    def _down(self, x: Any, power: Any, places: Any) -> Any:
        # With rounding toward zero and m = 1.5 * 2^(52 + u), the difference (x + m) - m is x rounded down to a multiple
        # of 2^u.
        builder = self._code.builder
        magic = self._code.as_numbers(builder.add(power, places))
        return builder.fsub(builder.fadd(x, magic), magic)

    def _power(self, x: Any) -> Any:
        field = self._code.builder.and_(self._code.as_bits(x), self._field)
        return self._code.larger(field, self._lowest)

    def rounded(self, exact: Any) -> Any:
        return self._down(exact, self._power(exact), self._result)

    def joined(self, even: Any, odd: Any, top: Any, c: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        # Each pair holds a number after truncation and before truncation. The two differ if truncation drops a 1 bit.
        code, builder = self._code, self._code.builder
        top = builder.shl(builder.add(top, code.splat(self._bias)), code.splat(self._fraction))
        power = self._power(c)
        last = code.larger(top, power)
        first, second = (self._down(x, top, self._window) for x in (even, odd))
        halves = builder.fadd(first, second)
        both = self._down(halves, last, self._total)
        near = builder.icmp_signed(">=", power, builder.sub(last, self._reach))
        addend = builder.select(near, self._down(c, last, self._window), code.constant(0.0, code.float))
        exact = builder.fadd(both, addend)
        total = self.rounded(exact)
        return total, [(first, even), (second, odd), (both, halves), (addend, c), (total, exact)]


def _tile(rows: int) -> Any:
    def tile(code: Code, *given: Any) -> None:
        own, others = TileStep(*given[: len(TileStep._fields)]), given[len(TileStep._fields) :]
        ends, lost = Ends(*others[: len(Ends._fields)]), others[len(Ends._fields) :]
        floors, none = _Floors(code, own), code.index(NO_EXPONENT)
        count = code.builder.add(own.half, own.rest)
        step = Window(own.b, own.power_b, own.first, count, own.window, own.lowest, none)
        with code.loop(own.times) as turn:
            place = code.place(turn, rows, own.row)
            with code.builder.if_else(is_whole(code, rows, own.acc, place, step, ends)) as (whole, cut):
                with whole:
                    sums = whole_sums(code, rows, own.a, own.depth, place, step, own.acc)
                    totals = {cell: floors.rounded(x) for cell, x in sums.items()}
                    pairs = {cell: [(total, sums[cell])] for cell, total in totals.items()}
                    _store(code, totals, pairs, own.acc, place, lost)
                with cut:
                    _store(code, *_joined(code, rows, own, floors, place, lost), own.acc, place, lost)

    tile.__qualname__ = f"halves_tile_{rows}"
    return vector_function(tile, carrier=0, rounding=TOWARD_ZERO)


def _joined(
    code: Code, rows: int, own: TileStep, floors: _Floors, place: Any, lost: tuple[Any, ...]
) -> tuple[Sums, dict[tuple[int, int], list[Any]]]:
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
    (tops, even), (other_tops, odd) = (
        window_sums(code, rows, own.a, own.power_a, own.depth, place, step, None, losses_of_half)
        for step, losses_of_half in zip((first_half, second_half), losses, strict=True)
    )
    totals, pairs = {}, {}
    for r in range(rows):
        top, row = code.larger(tops[r], other_tops[r]), code.place(code.builder.add(place, code.index(r)), width)
        for v in range(VECTORS):
            c = code.load(own.acc, code.place(v, code.lanes, row), code.float)
            totals[r, v], pairs[r, v] = floors.joined(even[r, v], odd[r, v], code.part(top, v), c)
    return totals, pairs


def _store(
    code: Code, totals: Sums, pairs: dict[tuple[int, int], list[Any]], acc: Any, place: Any, lost: tuple[Any, ...]
) -> None:
    store_sums(code, totals, acc, place)
    if lost:
        for (r, v), some in pairs.items():
            row = code.place(code.builder.add(place, code.index(r)), VECTORS * code.lanes)
            differ = [code.builder.fcmp_unordered("!=", *pair) for pair in some]
            code.mark(lost[-1], code.place(v, code.lanes, row), differ)


_rows_tile, _row_tile = _tile(ROWS), _tile(1)


@called
def _step(s, t, left_side, packed, panel, products, redo, others, marks):
    (a, power_a), (values, powers), (first, last) = left_side, packed, products
    half = (last - first + 1) // 2
    numbers = (first, half, last - first - half, s.window, s.interleaved, s.lowest)
    times = panel.shape[0] // ROWS
    _rows_tile((a, power_a, a.shape[1], values, powers, panel, 0, times, *numbers, *others))
    rest = panel.shape[0] - times * ROWS
    _row_tile((a, power_a, a.shape[1], values, powers, panel, times * ROWS, rest, *numbers, *others))
    for i in range(panel.shape[0]):
        redo[i] |= _close(s, t, panel[i], marks_of_row(marks, i))


@kernel
def halves(s, t, sides, lowest_bits, sums, products, redo, lost):
    """Add products of even and of odd index separately, in steps of `s.products`, in float64."""
    # The arguments are those of `aligned.aligned`, without chunks, and `lowest_bits` must not be None. For each step,
    # the arrays of `a` hold first the numbers of even index, and then the numbers of odd index.
    (a, power_a, b, power_b), (low_a, low_b), (acc, out), (begin, end) = sides, lowest_bits, sums, products
    m, width = acc.shape[0], tile_columns(acc.itemsize)
    panel, ends = np.empty((m, width)), ends_of_steps(power_a, low_a, begin, end, end - begin, s.products)
    of_columns, near = np.empty((2, s.products), np.int8), s.window - binades(s.products)
    highest, lowest = np.empty(m, np.int64), np.empty(m, np.int64)
    for number in range(redo.shape[1]):
        left = number * width
        columns = slice(left, min(left + width, b.shape[1]))
        values = np.zeros((s.products, PLANES, width))
        powers = np.full((s.products, width), np.int8(NO_EXPONENT))
        lows, marks = np.full((s.products, width), np.int8(-NO_EXPONENT - 1)), marks_of(lost, panel)
        take_panel(panel, acc, left)
        for i in range(m):
            redo[i, number] |= _special(s, panel[i])
        for step in range(ends.shape[0]):
            first = begin + step * s.products
            last = min(first + s.products, end)
            highest_b, lowest_b = np.int64(NO_EXPONENT), np.int64(-NO_EXPONENT - 1)
            for odd in range(min(last - first, 2)):
                half = slice((last - first + 1) // 2, last - first) if odd else slice(0, (last - first + 1) // 2)
                some = slice(first + odd, last, 2)
                pack(values[half], powers[half], b[some], power_b[some], left)
                if lost is not None:
                    pack_bytes(lows[half], low_b[some], left)
                high, low = ends_of_columns(of_columns[:, half], power_b[some, columns], low_b[some, columns])
                highest_b, lowest_b = max(highest_b, high), min(lowest_b, low)
            own = power_a[:, first:last], low_a[:, first:last]
            ends_of_products(ends[step], *own, of_columns, highest_b, lowest_b, near, highest, lowest)
            others = (highest, lowest, *losses_of(lost, lows, marks))
            _step(s, t, (a, power_a), (values, powers), panel, (first, last), redo[:, number], others, marks)
        give_panel(panel, out, left)
        if lost is not None:
            give_panel(marks, lost[-1], left)
