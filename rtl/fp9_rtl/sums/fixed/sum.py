"""Add any number of products and an addend exactly in fixed point."""

# Each product is shifted to its bit position in a field that holds the sum of all products. The sum of field and
# addend needs a window that is slightly wider than the field:
#
#     position   highest       top            ulp      lowest
#                   | outside   |    field     | outside  | sticky
#     products                  |xxxxxxxxxxxxxx|          |
#     addend     xxx|xxxxxxxxx  |   xxxxxxxxx  | xxxxxxxxx| xxx
#
# If the addend reaches above `highest`, the products' sum is below a quarter of the addend's last place. The addend
# is then moved down to `highest`, because its true distance does not affect the rounding.
#
# Addend bits below `lowest` are worth less than half of the products' last place, and become one sticky bit. They can
# move the leading bit of the sum by at most one position. If the products cancel, the result is the addend with all
# its bits.
#
# The adder works with signs relative to the addend's sign, so it inverts products but never the addend. If all bits
# of the addend are inside the field, the adder adds in one's complement. Otherwise it adds in two's complement, with
# the sign of each product as a carry at the lowest bit. If the sum in the field is negative, it borrows from the
# addend's bits above the field. Without such bits, a negative sum is inverted, and the addend bits below the field
# are negated.

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.engines import alignment_exponent
from fp9.formats import FixedFormat, Format, floor_log2
from fp9.units import Dot, product_range, with_every_bias
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.parts.end_around import end_around_sum
from fp9_rtl.parts.layouts import SPECIAL, addend_layout
from fp9_rtl.parts.select import any_of
from fp9_rtl.parts.shifters import shift_left_narrow, shift_right_narrow
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.facts import sum_facts
from fp9_rtl.rounding.rounder import rounder_layout
from fp9_rtl.sums.fixed.places import Window, product_bias, window_of
from fp9_rtl.sums.terms import carry_save, classify


def placed_product(
    m: Module, unit: Dot, product: data.View[data.StructLayout], negative: Value, bits: int, name: str
) -> Signal:
    """Return a product's significand, shifted to its position in a signal with `bits` bits."""
    # A negative product is inverted. Bit 0 has the weight of the lowest bit that a product can have. A shifter moves
    # the product by its exponent modulo 2^fine, and a selector then moves it by a multiple of 2^fine, where 2^fine is
    # at least the width of the significand.
    bias = product_bias(unit)
    fine = min((len(product.significand) - 1).bit_length(), len(product.exponent))
    apart, places_below = 1 << fine, len(product.significand) - 1
    lowest = sum(_lowest_exponent(unit, formats) for formats in (unit.a, unit.b)) + 1 + bias
    highest = sum_facts(unit).products[-1] + bias
    ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
    places = range(lowest // apart, highest // apart + 1)
    firsts = [place * apart - bias - places_below - ulp for place in places]
    dropped = max(-max(firsts), 0)
    moved = _moved_by_less_than(m, product, negative, fine, dropped, name)
    result = Signal(bits, name=f"{name}_placed")
    placed: list[Value] = []
    heres: list[Value] = []
    covering: list[list[int]] = [[] for _ in range(bits)]
    for index, (place, first) in enumerate(zip(places, firsts, strict=True)):
        here = Signal(name=f"{name}_to_{index}")
        kept = moved[max(-first, 0) - dropped : bits - first - dropped]
        m.d.comb += here.eq((product.exponent >> fine) == place)
        placed.append(Cat(Const(0, max(first, 0)), kept & here.replicate(len(kept))))
        for bit in range(max(first, 0), max(first, 0) + len(kept)):
            covering[bit].append(len(heres))
        heres.append(here)
    elsewhere = [
        (negative & ~Cat(heres[place] for place in over).any()).replicate(len([*run]))
        for over, run in itertools.groupby(covering)
    ]
    m.d.comb += result.eq(any_of([*placed, Cat(elsewhere)]))
    return result


def _moved_by_less_than(
    m: Module, product: data.View[data.StructLayout], negative: Value, fine: int, dropped: int, name: str
) -> Value:
    moved: Value = product.significand ^ negative.replicate(len(product.significand))
    for stage in range(fine):
        gap = negative.replicate(1 << stage)
        up, stays = Cat(gap, moved), Cat(moved, gap)
        if dropped and stage == fine - 1:
            up, stays = up[dropped:], stays[dropped:]
        wider = Signal(len(up), name=f"{name}_by_{len(gap)}")
        m.d.comb += wider.eq(Mux(product.exponent[stage], up, stays))
        moved = wider
    return moved


def _lowest_exponent(unit: Dot, formats: Sequence[Format]) -> int:
    every = with_every_bias(formats, unit.bias_port)
    return min(alignment_exponent(f, floor_log2(f.value_of(f.smallest_code))) for f in every)


class Place(Step):
    """Shift the products and the addend to their bit positions, and reduce them to two numbers with the same sum.

    The outputs `above` and `below` hold the addend's bits above and below the bit positions of the products.
    """

    name = "place"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        fmt = unit.engine.addend_format
        self._unit, self._format, self._window = unit, fmt, window_of(unit)
        window = self._window
        row = window.top - window.ulp + 2
        o = {
            "x": row,
            "y": row,
            "outside": 1,
            "carry": 1,
            "below": window.bits_below,
            "above": window.bits_above,
            "addend": addend_layout(fmt),
            "far": 1,
            "cut": 1,
            "subtract": 1,
            "sign_of_infinity": 1,
            **SPECIAL,
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o, window = self.o, self._window
        addend = unpack_addend(m, self._format, self.i.c)
        placed = self._place_addend(m, addend)
        field = slice(window.ulp - window.lowest, window.top - window.lowest)
        bits = len(o.x)
        rows, signs = [Cat(placed[field], Const(0, bits))[:bits]], []
        for name in self._unit.lane_names("product"):
            product = self.i[name]
            signs.append(product.sign ^ addend.sign)
            rows.append(placed_product(m, self._unit, product, signs[-1], bits, name))
        m.d.comb += o.outside.eq(Cat(o.below, o.above).any())
        carries = iter(signs)
        while len(rows) > 2:
            rows = [row for i in range(0, len(rows), 3) for row in self._reduced(m, rows[i : i + 3], carries)]
        products = [self.i[name] for name in self._unit.lane_names("product")]
        m.d.comb += [
            o.x.eq(rows[0]),
            o.y.eq(rows[1]),
            o.carry.eq(next(carries)),
            o.below.eq(Cat(o.cut, placed[: field.start]) if window.cut else placed[: field.start]),
            o.above.eq(placed[field.stop :]),
            o.addend.eq(addend),
            o.sign_of_infinity.eq(classify(m, products, addend, o, self._unit.engine.nan.infinity_run)),
        ]
        return m

    def _reduced(self, m: Module, rows: Sequence[Value], carries: Iterator[Value]) -> Sequence[Value]:
        if len(rows) < 3:
            return rows
        total, moved = carry_save(m, rows)
        return total, Cat(Mux(self.o.outside, next(carries), moved[0]), moved[1:])

    def _place_addend(self, m: Module, addend: data.View[data.StructLayout]) -> Value:
        """Return the addend's bits from `lowest` to `addend_highest`. Nonzero bits below `lowest` set output `cut`."""
        o, window, fmt = self.o, self._window, self._format
        highest = window.addend_highest + fmt.bias
        distance = Signal(range(max(highest, 1) + 1))
        m.d.comb += [
            o.far.eq(addend.exponent > highest if window.far else 0),
            distance.eq(Mux(o.far, 0, highest - addend.exponent)),
        ]
        width = window.addend_highest - window.lowest + 1
        bits, lost = shift_right_narrow(m, addend.significand, width, distance, "placed_addend")
        m.d.comb += o.cut.eq(lost if window.cut else 0)
        return bits


class Add(Step):
    """Add the numbers `x` and `y`, then extend the sum at the top by the input `above` and at the bottom by `below`.

    The products and the middle bits of the addend were reduced to `x` and `y`. The inputs `above` and `below` hold the
    addend's higher and lower bits.

    The output `sum` is a magnitude, and the output `sign` is its sign. The output `alone` is 1 if the products cancel
    and the shifted addend has lost low bits. If `alone` is 1, the result is the original addend.
    """

    name = "add"

    def __init__(self, window: Window, i: data.StructLayout) -> None:
        self._window = window
        o = {
            "sum": window.bits,
            "alone": 1,
            "sign": 1,
            **{name: i[name].shape for name in ("addend", "far", "subtract", *SPECIAL)},
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, window = self.i, self.o, self._window
        above, borrows, negative = Signal(), Signal(), Signal()
        total = end_around_sum(m, i.x, i.y, i.outside, i.carry)
        magnitude = Signal(len(total) - 1)
        below_sum = Signal(window.bits_below)
        m.d.comb += [
            above.eq(i.above.any() if window.bits_above else 0),
            borrows.eq(total[-1] & above),
            negative.eq(total[-1] & ~above),
            magnitude.eq(total[:-1] ^ negative.replicate(len(magnitude))),
            below_sum.eq(Mux(negative, -i.below, i.below)),
            o.alone.eq(i.cut & ~total.any()),
            o.sign.eq(Mux(i.inf, i.sign_of_infinity, i.addend.sign ^ negative)),
        ]
        carries = total[-2] & ~total[-1]
        above_sum = Signal(window.highest - window.top + 1)
        m.d.comb += above_sum.eq(i.above + carries - borrows if window.bits_above else magnitude[-1])
        m.d.comb += o.sum.eq(Cat(below_sum, magnitude[:-1], above_sum))
        forward(m, i, o, "addend", "far", "subtract", *SPECIAL)
        return m


class Normalise(Step):
    """Shift the leading 1 of a sum to the top, and convert the bits below to guard, round and sticky bits.

    If `alone` is 1, the products have cancelled, so the sum is the addend.
    """

    name = "normalise"

    def __init__(self, fmt: FixedFormat, window: Window, i: data.StructLayout) -> None:
        self._window, self._format = window, fmt
        self._passed = ("subtract", "sign", *SPECIAL)
        highest = max(window.highest + fmt.bias, (1 << fmt.exponent_bits) - 1)
        lowest = 0 if fmt.subnormals else window.lowest + fmt.bias - window.cut
        passed = {name: i[name].shape for name in self._passed}
        super().__init__(i, rounder_layout(fmt, range(min(lowest, 0), highest + 1), passed))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, fmt, window = self.i, self.o, self._format, self._window
        kept = len(o.significand) + 2
        padded = Cat(Const(0, max(kept + 1 - window.bits, 0)), i.sum)
        furthest = len(padded) - 1
        stops = fmt.subnormals and window.highest - fmt.min_normal_exponent <= furthest
        if stops:
            furthest = window.highest - fmt.min_normal_exponent
        bits, sticky, shift = shift_left_narrow(m, padded, kept, furthest)
        highest: Value = Const(window.highest + fmt.bias)
        if window.far:
            highest = Mux(i.far, i.addend.exponent, highest)
        exponent, zero = highest - shift, ~(bits.any() | sticky) if stops else ~bits[-1]
        if window.cut:
            significand = i.addend.significand
            whole = Cat(Const(0, max(kept - len(significand), 0)), significand)
            bits, sticky = Mux(i.alone, whole[-kept:], bits), Mux(i.alone, whole[:-kept].any(), sticky)
            exponent, zero = Mux(i.alone, i.addend.exponent, exponent), zero & ~i.alone
        m.d.comb += [
            Cat(o.round, o.guard, o.significand).eq(bits),
            o.sticky.eq(sticky),
            o.exponent.eq(exponent),
            o.zero.eq(zero),
        ]
        forward(m, i, o, *self._passed)
        return m
