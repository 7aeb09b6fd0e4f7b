"""Numba kernels of matrix products with a window, in register tiles: a float accumulator aligns.

A sum of magnitudes that starts at 2^p of a unit, p the carrier's fraction bits, and stays below twice that has this
unit as its last place: under rounding toward zero, one fused multiply-add multiplies, aligns, truncates and adds. Sums
of all magnitudes and of those of negative products give the sum. Exponents are bytes, as many of them compared at a
time as a register holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from fp9.engines import NO_EXPONENT
from fp9.kernels.compiled import called, inlined, kernel
from fp9.kernels.floats import masked, rounded
from fp9.kernels.vectors import (
    VECTORS,
    WIDE,
    Code,
    Variable,
    give_panel,
    join_panel,
    take_panel,
    tile_columns,
    vector_function,
)

SAFE_EXPONENT = 90
"""Products lie above 2^-90, and a zero's byte with any exponent below; numbers to 2^90 are far from float32's ends."""
ROWS = 3 if WIDE else 1
"""Of a tile."""
BYTE = ir.IntType(8)
PLANES, _NEGATIVE_B, _POSITIVE_B = 3, 1, 2
"""Of a packed b: magnitudes, those of negative numbers, of positive ones."""


class Aligned(NamedTuple):
    """What the kernel asks of an engine with a window; numbers in the carrier's types."""

    products: int
    window: int
    lowest: int  # exponent of the result's lowest binade: smaller addends are aligned as numbers of it
    zero: int  # exponent with which a zero is aligned; NO_EXPONENT where it is below all others
    truncates: bool
    smallest: Any  # magnitudes within which no sum meets an edge of result or carrier; 0 always does well
    largest: Any


class Window(NamedTuple):
    """A step as a tile takes it: where it begins in packed values and how many products it has, as indices."""

    b: Any
    power_b: Any
    first: Any
    count: Any
    bits: Any
    lowest: Any
    zero: Any


def window_sums(code: Code, rows: int, a: Any, negative: Any, power_a: Any, depth: Any, row: Any, step: Window,
                acc: Any, out: Any) -> list[Any]:  # fmt: skip
    """Sums of one step of `rows` rows and their addends in `acc`, none where it is None, to `out`; the largest
    exponents of their products."""
    width = VECTORS * code.lanes
    left = [code.place(code.builder.add(row, code.index(r)), depth, step.first) for r in range(rows)]
    places = [code.place(code.builder.add(row, code.index(r)), width) for r in range(rows)]
    exponents = _Exponents(code, power_a, left, step.power_b, step.count)
    tops = exponents.tops()
    exponents.raise_to(tops, step.zero)
    cells = [(r, v) for r in range(rows) for v in range(VECTORS)]
    bases, alls, negatives = {}, {}, {}
    for r, v in cells:
        c = code.constant(0.0, code.float)
        if acc is not None:
            c = code.load(acc, code.place(v, code.lanes, places[r]), code.float)
        base, magnitude, below = _start(code, c, code.part(tops[r].get(), v), step.bits, step.lowest, step.zero)
        bases[r, v] = base
        alls[r, v] = code.variable(code.builder.fadd(base, magnitude))
        negatives[r, v] = code.variable(code.builder.fadd(base, below))
    with code.loop(step.count) as k:
        start = code.place(k, PLANES * width)
        magnitudes = [code.load(step.b, code.place(v, code.lanes, start), code.float) for v in range(VECTORS)]
        for r in range(rows):
            place = code.builder.add(left[r], k)
            x = code.splat(code.load(a, place, code.float.element))
            is_negative = code.builder.sext(code.load(negative, place, BYTE), k.type)
            plane = code.builder.and_(is_negative, code.index((_POSITIVE_B - _NEGATIVE_B) * width))
            other = code.builder.add(start, code.builder.add(plane, code.index(_NEGATIVE_B * width)))
            for v in range(VECTORS):
                alls[r, v].set(code.fma(magnitudes[v], x, alls[r, v].get()))
                against = code.load(step.b, code.place(v, code.lanes, other), code.float)
                negatives[r, v].set(code.fma(against, x, negatives[r, v].get()))
    for r, v in cells:
        every, below = (code.builder.fsub(x[r, v].get(), bases[r, v]) for x in (alls, negatives))
        total = code.builder.fsub(code.builder.fsub(every, below), below)
        code.store(total, out, code.place(v, code.lanes, places[r]))
    return [top.get() for top in tops]


class _Exponents:
    """Those of products, of rows that begin in `left` with all columns of a panel, as bytes."""

    def __init__(self, code: Code, power_a: Any, left: list[Any], power_b: Any, count: Any) -> None:
        self._code, self._power_a, self._left, self._power_b, self._count = code, power_a, left, power_b, count
        self._vector = ir.VectorType(BYTE, VECTORS * code.lanes)

    def tops(self) -> list[Variable]:
        """The largest of each row and column."""
        return self._ends(NO_EXPONENT, self._code.larger)

    def raise_to(self, tops: list[Variable], zero: Any) -> None:
        """Let a zero among the products count with its exponent, where it has one."""
        code, builder = self._code, self._code.builder
        with builder.if_then(builder.icmp_signed("!=", zero, code.index(NO_EXPONENT))):
            own = code.splat(builder.trunc(zero, BYTE), self._vector.count)
            for top, bottom in zip(tops, self._ends(-NO_EXPONENT - 1, code.smaller), strict=True):
                has_zero = builder.icmp_signed("<", bottom.get(), code.constant(-SAFE_EXPONENT, self._vector))
                top.set(builder.select(has_zero, code.larger(top.get(), own), top.get()))

    def _ends(self, start: int, chosen: Any) -> list[Variable]:
        code, width = self._code, self._vector.count
        ends = [code.variable(code.constant(start, self._vector)) for _ in self._left]
        with code.loop(self._count) as k:
            own = code.load(self._power_b, code.place(k, width), self._vector)
            for end, first in zip(ends, self._left, strict=True):
                other = code.splat(code.load(self._power_a, code.builder.add(first, k), BYTE), width)
                end.set(chosen(end.get(), code.saturating_sum(own, other)))
        return ends


def _start(code: Code, c: Any, top: Any, window: Any, lowest: Any, zero: Any) -> tuple[Any, Any, Any]:
    """What sums start from, the addend's magnitude, and this where it is negative."""
    builder, fraction, field = code.builder, code.constant(code.fraction_bits), code.exponent_field
    bias = field >> 1
    bits = code.as_bits(c)
    magnitude = builder.and_(bits, code.constant((1 << (code.bits - 1)) - 1))
    exponent = builder.sub(builder.lshr(magnitude, fraction), code.constant(bias))
    exponent = code.larger(exponent, code.splat_integer(lowest))
    some = builder.icmp_signed("!=", magnitude, code.constant(0))
    top = code.larger(top, builder.select(some, exponent, code.splat_integer(zero)))
    scale = builder.sub(code.constant(bias + code.fraction_bits), code.splat_integer(window))
    base = code.as_numbers(builder.shl(builder.add(top, scale), fraction))
    is_negative = builder.icmp_signed("<", bits, code.constant(0))
    numbers = code.as_numbers(magnitude)
    return base, numbers, builder.select(is_negative, numbers, code.constant(0.0, code.float))


def _tile(rows: int) -> Any:
    def tile(
        code: Code, a: Any, negative: Any, power_a: Any, depth: Any, b: Any, power_b: Any, acc: Any, row: Any,
        times: Any, first: Any, count: Any, window: Any, lowest: Any, zero: Any,
    ) -> None:  # fmt: skip
        """Carry the accumulators of `rows` rows, so many times, through a step."""
        step = Window(b, power_b, first, count, window, lowest, zero)
        with code.loop(times) as turn:
            window_sums(code, rows, a, negative, power_a, depth, code.place(turn, rows, row), step, acc, acc)

    tile.__qualname__ = f"aligned_tile_{rows}"
    return vector_function(tile, carrier=0, toward_zero=True)


_rows_tile, _row_tile = _tile(ROWS), _tile(1)


@inlined
def pack(values, powers, b, power_b, left):
    """Columns of b from `left` on, as a tile reads them; zeros beyond the last one."""
    zero = b.dtype.type(0.0)
    count = min(values.shape[2], b.shape[1] - left)
    for k in range(b.shape[0]):
        x, power, own = b[k], power_b[k], powers[k]
        every, negatives, positives = values[k, 0], values[k, _NEGATIVE_B], values[k, _POSITIVE_B]
        for j in range(count):
            every[j] = abs(x[left + j])
            negatives[j] = max(-x[left + j], zero)
            positives[j] = max(x[left + j], zero)
            own[j] = power[left + j]


@inlined
def _close(s, t, row):
    """Round the sums of a step; whether an edge is met."""
    if s.truncates:
        for j in range(row.size):
            row[j] = masked(row[j], t.mask)
    else:
        zero = row.dtype.type(0.0)  # an aligned sum's zero has no sign
        for j in range(row.size):
            row[j] = rounded(row[j], t) + zero
    return _edges(s, row)


@inlined
def _edges(s, row):
    """Whether a number is too large or too small for these sums, or none."""
    met = False
    for j in range(row.size):
        size = abs(row[j])
        met |= not size <= s.largest or (size < s.smallest and size != 0.0)
    return met


@called
def _steps(s, t, a, negative, power_a, values, powers, panel, first, last, redo):
    """One step of all rows of a panel."""
    numbers, sides = (first, last - first, s.window, s.lowest, s.zero), (a, negative, power_a, a.shape[1])
    times = panel.shape[0] // ROWS
    some = (*sides, values, powers, panel, 0, times, *numbers)
    _rows_tile(some)
    others = (*sides, values, powers, panel, times * ROWS, panel.shape[0] - times * ROWS, *numbers)
    _row_tile(others)
    for i in range(panel.shape[0]):
        redo[i] |= _close(s, t, panel[i])


@kernel
def aligned(s, t, a, negative, power_a, b, power_b, acc, out, begin, end, redo, length, join):
    """Steps of s.products products with a window, a (m, k) magnitudes and b (k, n), all finite.

    `negative` (-1 or 0) and `power_a` are bytes of a's shape, exponents with which numbers are aligned; `power_b` of
    b's. `out` gets the accumulators. `redo` (m, panels) is set where sums met an edge: these are wrong. With `join`, a
    rounding, `length` products at a time are summed from zero, and their sums join accumulators in float64.
    """
    m, width = acc.shape[0], tile_columns(b.itemsize)
    panel, totals = np.zeros((m, width), b.dtype), np.empty((m, width), acc.dtype)
    for number in range(redo.shape[1]):
        left = number * width
        values = np.zeros((s.products, PLANES, width), b.dtype)
        powers = np.full((s.products, width), np.int8(NO_EXPONENT))
        if join is None:
            take_panel(panel, acc, left)
            for i in range(m):
                redo[i, number] |= _edges(s, panel[i])
        else:
            take_panel(totals, acc, left)
        for start in range(begin, end, length):
            stop = min(start + length, end)
            for first in range(start, stop, s.products):
                last = min(first + s.products, stop)
                pack(values, powers, b[first:last], power_b[first:last], left)
                _steps(s, t, a, negative, power_a, values, powers, panel, first, last, redo[:, number])
            if join is not None:
                join_panel(totals, panel, join)
        if join is None:
            give_panel(panel, out, left)
        else:
            give_panel(totals, out, left)
