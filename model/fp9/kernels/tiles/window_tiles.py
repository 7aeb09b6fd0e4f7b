"""Generator of vector code for one accumulation step with an alignment window.

A running sum of magnitudes starts at a large power of two instead of 0. The last significand bit of the running sum's
start value has the weight of the alignment window's lowest bit. With rounding toward zero, the float addition of a term
to the running sum therefore drops the term's bits below the window. One fused multiply-add computes a product and adds
the truncated product to the running sum. At the end, the code subtracts the start value, a power of two, from the
running sum. The result is the sum of all magnitudes, minus twice the sum of the negative terms' magnitudes.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload

from fp9.engines import NO_EXPONENT
from fp9.kernels.compiled import inlined
from fp9.kernels.tiles.vectors import VECTORS, WIDE, Code, Variable

SAFE_EXPONENT = 90
"""Exponent limit of the kernels. Nonzero products are above 2^-90, and magnitudes are below 2^90.

The exponent byte of zero, plus the exponent of any other factor, is below -90.
"""
ROWS = 3 if WIDE else 1
BYTE, _I64 = ir.IntType(8), ir.IntType(64)
PLANES, _NEGATIVE_B, _POSITIVE_B = 3, 1, 2
"""Planes of a packed b: all numbers, |x| of negative numbers, and |x| of positive numbers."""


class Window(NamedTuple):
    """Arguments of one accumulation step on a register tile: packed operand `b`, product range and window width."""

    b: Any
    power_b: Any
    first: Any
    count: Any
    bits: Any
    lowest: Any
    zero: Any


class Ends(NamedTuple):
    """Exponents (or their bounds) of the highest and lowest bits in each row's products."""

    highest: Any
    lowest: Any


class Losses(NamedTuple):
    """Data with which an accumulation step detects dropped bits of sums.

    `low_a` and `low_b` hold the exponent of the lowest nonzero bit of each number in the operands `a` and `b`.
    """

    low_a: Any
    low_b: Any
    # A step sets a mark to a nonzero value if the step drops a nonzero bit of the sum.
    marks: Any


Sums = dict[tuple[int, int], Any]
"""Vectors of sums by row and number of the vector."""


def window_sums(code: Code, rows: int, a: Any, power_a: Any, depth: Any, row: Any, step: Window,
                acc: Any, losses: Losses | None = None) -> tuple[list[Any], Sums]:  # fmt: skip
    # The highest exponents of the rows, and the sums of each row's vectors.
    width = VECTORS * code.lanes
    left = [code.place(code.builder.add(row, code.index(r)), depth, step.first) for r in range(rows)]
    places = [code.place(code.builder.add(row, code.index(r)), width) for r in range(rows)]
    exponents = _Exponents(code, power_a, left, step.power_b, step.count)
    tops = exponents.tops()
    exponents.raise_to(tops, step.zero)
    ends = [] if losses is None else _Exponents(code, losses.low_a, left, losses.low_b, step.count).bottoms()
    cells = [(r, v) for r in range(rows) for v in range(VECTORS)]
    bases, alls, negatives = {}, {}, {}
    for r, v in cells:
        c = code.constant(0.0, code.float)
        if acc is not None:
            c = code.load(acc, code.place(v, code.lanes, places[r]), code.float)
        start = _start(code, c, code.part(tops[r].get(), v), step.bits, step.lowest, step.zero)
        base, magnitude, below, finest = start
        bases[r, v] = base
        alls[r, v] = code.variable(code.builder.fadd(base, magnitude))
        if losses is not None:
            dropped = code.builder.icmp_signed("<", code.part(ends[r].get(), v), finest)
            kept = code.builder.fsub(alls[r, v].get(), base)
            unequal = code.builder.fcmp_unordered("!=", kept, magnitude)
            code.mark(losses.marks, code.place(v, code.lanes, places[r]), [dropped, unequal])
        negatives[r, v] = code.variable(code.builder.fadd(base, below))
    with code.loop(step.count) as k:
        start = code.place(k, PLANES * width)
        numbers = [code.load(step.b, code.place(v, code.lanes, start), code.float) for v in range(VECTORS)]
        magnitudes = [code.magnitude(x) for x in numbers]
        for r in range(rows):
            place = code.builder.add(left[r], k)
            x = code.magnitude(code.splat(code.load(a, place, code.float.element)))
            sign = code.builder.ashr(code.load(a, place, code.int.element), code.int.element(code.bits - 1))
            plane = code.builder.and_(code.as_index(sign), code.index((_POSITIVE_B - _NEGATIVE_B) * width))
            other = code.builder.add(start, code.builder.add(plane, code.index(_NEGATIVE_B * width)))
            for v in range(VECTORS):
                alls[r, v].set(code.fma(magnitudes[v], x, alls[r, v].get()))
                against = code.load(step.b, code.place(v, code.lanes, other), code.float)
                negatives[r, v].set(code.fma(against, x, negatives[r, v].get()))
    sums = {}
    for cell in cells:
        every, below = (code.builder.fsub(x[cell].get(), bases[cell]) for x in (alls, negatives))
        sums[cell] = code.builder.fsub(code.builder.fsub(every, below), below)
    return [top.get() for top in tops], sums


def jammed_sums(code: Code, rows: int, a: Any, power_a: Any, depth: Any, row: Any, step: Window,
                acc: Any, losses: Losses | None = None) -> tuple[list[Any], Sums]:  # fmt: skip
    """Compute the sums of `window_sums` for windows that OR dropped bits into the last bit of a term."""
    width, builder = VECTORS * code.lanes, code.builder
    left = [code.place(builder.add(row, code.index(r)), depth, step.first) for r in range(rows)]
    places = [code.place(builder.add(row, code.index(r)), width) for r in range(rows)]
    exponents = _Exponents(code, power_a, left, step.power_b, step.count)
    tops = exponents.tops()
    exponents.raise_to(tops, step.zero)
    sums, units, steps, lost = {}, {}, {}, {}
    for r, v in ((r, v) for r in range(rows) for v in range(VECTORS)):
        c = code.load(acc, code.place(v, code.lanes, places[r]), code.float)
        base, *_ = _start(code, c, code.part(tops[r].get(), v), step.bits, step.lowest, step.zero)
        # `units` holds the weight of the window's lowest bit, and `steps` its reciprocal.
        units[r, v] = builder.fmul(base, code.constant(0.5**code.fraction_bits, code.float))
        twice_the_bias = code.constant((code.exponent_field >> 1) << (code.fraction_bits + 1))
        steps[r, v] = code.as_numbers(builder.sub(twice_the_bias, code.as_bits(units[r, v])))
        kept, is_cut = _jam(code, builder.fmul(c, steps[r, v]))
        sums[r, v] = code.variable(builder.fadd(kept, code.constant(0.0, code.float)))
        lost[r, v] = code.variable(is_cut)
    with code.loop(step.count) as k:
        start = code.place(k, PLANES * width)
        numbers = [code.load(step.b, code.place(v, code.lanes, start), code.float) for v in range(VECTORS)]
        for r in range(rows):
            x = code.splat(code.load(a, builder.add(left[r], k), code.float.element))
            for v in range(VECTORS):
                kept, is_cut = _jam(code, builder.fmul(builder.fmul(numbers[v], x), steps[r, v]))
                sums[r, v].set(builder.fadd(sums[r, v].get(), kept))
                if losses is not None:
                    lost[r, v].set(builder.or_(lost[r, v].get(), is_cut))
    if losses is not None:
        for (r, v), is_cut in lost.items():
            code.mark(losses.marks, code.place(v, code.lanes, places[r]), [is_cut.get()])
    return [top.get() for top in tops], {cell: builder.fmul(sums[cell].get(), units[cell]) for cell in sums}


def _jam(code: Code, x: Any) -> tuple[Any, Any]:
    # The addition truncates to an integer, and the last bit of the sum is the last bit of the integer.
    builder, large = code.builder, code.constant(2.0**code.fraction_bits, code.float)
    size = code.magnitude(x)
    total = builder.fadd(size, large)
    is_cut = builder.fcmp_unordered("!=", builder.fsub(total, large), size)
    odd = builder.or_(code.as_bits(total), builder.zext(is_cut, code.int))
    kept = builder.fsub(code.as_numbers(odd), large)
    sign = builder.and_(code.as_bits(x), code.constant(-1 << (code.bits - 1)))
    return code.as_numbers(builder.or_(code.as_bits(kept), sign)), is_cut


def store_sums(code: Code, sums: Sums, acc: Any, row: Any) -> None:
    for (r, v), total in sums.items():
        place = code.place(code.builder.add(row, code.index(r)), VECTORS * code.lanes)
        code.store(total, acc, code.place(v, code.lanes, place))


def whole_sums(code: Code, rows: int, a: Any, depth: Any, row: Any, step: Window, acc: Any) -> Sums:
    # All bits must fit into the alignment window.
    width = VECTORS * code.lanes
    left = [code.place(code.builder.add(row, code.index(r)), depth, step.first) for r in range(rows)]
    places = [code.place(code.builder.add(row, code.index(r)), width) for r in range(rows)]
    zero = code.constant(0.0, code.float)
    sums = {}
    for r, v in ((r, v) for r in range(rows) for v in range(VECTORS)):
        c = code.load(acc, code.place(v, code.lanes, places[r]), code.float)
        sums[r, v] = code.variable(code.builder.fadd(c, zero))  # an aligned sum's zero has no sign
    with code.loop(step.count) as k:
        start = code.place(k, PLANES * width)
        numbers = [code.load(step.b, code.place(v, code.lanes, start), code.float) for v in range(VECTORS)]
        for r in range(rows):
            place = code.builder.add(left[r], k)
            x = code.splat(code.load(a, place, code.float.element))
            for v in range(VECTORS):
                sums[r, v].set(code.fma(numbers[v], x, sums[r, v].get()))
    return {cell: total.get() for cell, total in sums.items()}


class _Exponents:
    def __init__(self, code: Code, power_a: Any, left: list[Any], power_b: Any, count: Any) -> None:
        self._code, self._power_a, self._left, self._power_b, self._count = code, power_a, left, power_b, count
        self._vector = ir.VectorType(BYTE, VECTORS * code.lanes)

    def tops(self) -> list[Variable]:
        return self._ends(NO_EXPONENT, self._code.larger)

    def bottoms(self) -> list[Variable]:
        return self._ends(-NO_EXPONENT - 1, self._code.smaller)

    def raise_to(self, tops: list[Variable], zero: Any) -> None:
        code, builder = self._code, self._code.builder
        with builder.if_then(builder.icmp_signed("!=", zero, code.index(NO_EXPONENT))):
            own = code.splat(builder.trunc(zero, BYTE), self._vector.count)
            for top, bottom in zip(tops, self.bottoms(), strict=True):
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


def _start(code: Code, c: Any, top: Any, window: Any, lowest: Any, zero: Any) -> tuple[Any, Any, Any, Any]:
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
    below = builder.select(is_negative, numbers, code.constant(0.0, code.float))
    return base, numbers, below, builder.sub(top, code.splat_integer(window))


def is_whole(code: Code, rows: int, acc: Any, row: Any, step: Window, ends: Ends) -> Any:
    builder, width = code.builder, VECTORS * code.lanes
    bias, fraction = code.index(code.exponent_field >> 1), code.index(code.fraction_bits)

    def power(exponent: Any) -> Any:
        bits = builder.shl(builder.add(exponent, bias), fraction)
        return code.splat(builder.bitcast(bits, code.float.element))

    found = []
    for r in range(rows):
        own = builder.add(row, code.index(r))
        top, lowest = (code.load(x, own, _I64) for x in ends)
        for other in (step.lowest, step.zero):
            top = builder.select(builder.icmp_signed(">", other, top), other, top)
        finest = builder.sub(top, step.bits)
        units, beyond = power(builder.neg(finest)), power(builder.add(lowest, builder.add(step.bits, code.index(1))))
        found.append(code.splat(builder.icmp_signed("<", lowest, finest)))
        for v in range(VECTORS):
            c = code.load(acc, code.place(v, code.lanes, code.place(own, width)), code.float)
            steps = builder.fmul(c, units)
            found.append(builder.fcmp_unordered("!=", steps, code.truncated(steps)))
            found.append(builder.fcmp_unordered(">=", code.magnitude(c), beyond))
    lanes = ir.IntType(code.lanes)
    return builder.icmp_unsigned("==", builder.bitcast(functools.reduce(builder.or_, found), lanes), lanes(0))


@inlined
def pack(values, powers, b, power_b, left):
    zero = b.dtype.type(0.0)
    count = min(values.shape[2], b.shape[1] - left)
    for k in range(b.shape[0]):
        x, power, own = b[k, left : left + count], power_b[k, left : left + count], powers[k]
        numbers, negatives, positives = values[k, 0], values[k, _NEGATIVE_B], values[k, _POSITIVE_B]
        for j in range(count):
            numbers[j] = x[j]
            negatives[j] = max(-x[j], zero)
            positives[j] = max(x[j], zero)
            own[j] = power[j]


@inlined
def pack_bytes(lows, low_b, left):
    count = min(lows.shape[1], low_b.shape[1] - left)
    for k in range(low_b.shape[0]):
        own, low = lows[k], low_b[k, left : left + count]
        for j in range(count):
            own[j] = low[j]


def losses_of(lost: Any, lows: Any, marks: Any) -> Any:
    raise NotImplementedError("a part of kernels")


@overload(losses_of, jit_options={"forceinline": True})
def _losses_of(lost, lows, marks):
    if isinstance(lost, types.NoneType):
        return lambda lost, lows, marks: ()
    return lambda lost, lows, marks: (lost[0], lows, marks)


@inlined
def _ends(powers, lows):
    highest, lowest = powers[0], lows[0]
    for k in range(powers.size):
        highest, lowest = max(highest, powers[k]), min(lowest, lows[k])
    return np.int64(highest), np.int64(lowest)


@inlined
def binades(products):
    count = 0
    while products >> count:
        count += 1
    return count


@inlined
def ends_of_steps(power_a, low_a, begin, end, length, products):
    """For every step and row of `a`, return the largest exponent, and the exponent of the lowest 1 bit."""
    # The result has the shape (steps, 2, rows).
    steps = -(-length // products) * -(-(end - begin) // length)
    ends = np.empty((steps, 2, power_a.shape[0]), np.int64)
    step = 0
    for start in range(begin, end, length):
        for first in range(start, min(start + length, end), products):
            last = min(first + products, start + length, end)
            for i in range(power_a.shape[0]):
                ends[step, 0, i], ends[step, 1, i] = _ends(power_a[i, first:last], low_a[i, first:last])
            step += 1
    return ends


@inlined
def ends_of_columns(ends, power_b, low_b):
    """Return two exponents for the numbers in `b`: the largest exponent, and the exponent of the lowest 1 bit."""
    # `ends` (2, products), int8, receives both exponents of each row of `b`.
    highest, lowest = _ends(power_b[0], low_b[0])
    for k in range(power_b.shape[0]):
        high, low = _ends(power_b[k], low_b[k])
        ends[0, k], ends[1, k] = high, low
        highest, lowest = max(highest, high), min(lowest, low)
    return highest, lowest


@inlined
def ends_of_products(of_rows, power_a, low_a, of_columns, highest_b, lowest_b, near, highest, lowest):
    # The operand ranges give bounds. Only rows whose bounds are too far apart need the exponents of all products.
    for i in range(highest.size):
        top, low = of_rows[0, i] + highest_b, of_rows[1, i] + lowest_b
        if top - low > near:
            top, low = _ends_of_row(power_a[i], low_a[i], of_columns)
        highest[i], lowest[i] = top, low


@inlined
def _ends_of_row(power, low, of_columns):
    tops, lows = of_columns[0], of_columns[1]
    highest, lowest = np.int16(power[0]) + np.int16(tops[0]), np.int16(low[0]) + np.int16(lows[0])
    for k in range(power.size):
        highest = max(highest, np.int16(power[k]) + np.int16(tops[k]))
        lowest = min(lowest, np.int16(low[k]) + np.int16(lows[k]))
    return np.int64(highest), np.int64(lowest)
