"""Add products of even index and of odd index in two separate windows, then add both sums and the addend (CDNA3)."""

#     even sum     xxxxxxxxxxxxxxxxxxxxxxxxxxx          toward zero, in the window below its own largest exponent
#     odd sum             xxxxxxxxxxxxxxxxxxxx|xxxxxxx  (the same)
#     joined       xxxxxxxxxxxxxxxxxxxxxxxxxxxx         floor at the window of the larger exponent
#     addend           xxxxxxxxxxxxxxxxxxxxxxxx|xxx     floor at the window below the largest exponent of all
#     both             xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  `interleaved` fraction bits, floor; then one rounding
#
# Truncation with the mode `floor` subtracts 1 in the last place of a negative number that loses bits. The products
# can be added before the previous sum is known, so an accumulator's loop adds only the addend.

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9.units import Dot
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.parts.layouts import SPECIAL
from fp9_rtl.parts.select import any_of
from fp9_rtl.parts.shifters import shift_right_narrow
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.sums.terms import NormaliseSum, classify, signed_sum
from fp9_rtl.sums.window.align import (
    Window,
    aligned_layout,
    carry_places,
    places_above,
    product_terms,
    ranks_of,
    window_bits,
)

HALVES = ("even", "odd")


def half(unit: Dot, name: str) -> tuple[str, ...]:
    # The argument `name` is "even" or "odd".
    return unit.lane_names("product")[HALVES.index(name) :: 2]


def sum_bits(unit: Dot) -> int:
    return window_bits(unit) + carry_places(unit)


class AlignHalves(Step):
    """Align products of even index in one window and products of odd index in another, and truncate all toward zero.

    The outputs `even_top` and `odd_top` are the largest exponents of the products with even and with odd indices. A
    product keeps a fixed number of fraction bits below the largest exponent of its window.
    """

    name = "align"

    def __init__(self, unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        self._unit, self._passed = unit, passed
        products = unit.lane_names("product")
        self._ranks = ranks_of(unit, i[products[0]].shape["exponent"].shape)
        window = {**{f"{name}_top": self._ranks.exponents for name in HALVES}, "dropped": 1}
        super().__init__(i, aligned_layout(unit, products, window, {name: i[name].shape for name in passed}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o, unit = self.o, self._unit
        terms = product_terms(unit, self.i)
        lost: list[Value] = []
        for name in HALVES:
            window = Window(m, unit, self._ranks, {term: terms[term] for term in half(unit, name)}, f"{name}_")
            lost += window.lost.values()
            m.d.comb += [o[f"{name}_top"].eq(window.top), *(o[term].eq(bits) for term, bits in window.cut.items())]
        products = [self.i[name] for name in unit.lane_names("product")]
        m.d.comb += [
            *(o[f"{name}_sign"].eq(term.sign) for name, term in terms.items()),
            o.dropped.eq(any_of(lost)),
            o.sign_of_infinity.eq(classify(m, products, None, o)),
        ]
        forward(m, self.i, o, *self._passed)
        return m


class AddHalves(Step):
    """Add the products with even indices, add the products with odd indices, then add the two sums.

    The output `top` is the larger of the exponents `even_top` and `odd_top`.
    """

    name = "add"

    def __init__(self, unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        self._unit = unit
        self._bits = sum_bits(unit)
        self._passed = (*SPECIAL, *passed)
        o = {
            "sum": self._bits,
            "sign": 1,
            "top": i["even_top"].shape,
            "dropped": 1,
            **{name: i[name].shape for name in self._passed},
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, bits = self.i, self.o, self._bits
        (even, even_negative), (odd, odd_negative) = (self._sum(m, name) for name in HALVES)
        swapped, distance = Signal(), Signal(range(len(i.shape()["even_top"].shape)))
        low, low_negative = Signal(bits), Signal()
        m.d.comb += [
            swapped.eq(i.odd_top > i.even_top),
            o.top.eq(Mux(swapped, i.odd_top, i.even_top)),
            distance.eq(o.top - Mux(swapped, i.even_top, i.odd_top)),
            low.eq(Mux(swapped, even, odd)),
            low_negative.eq(Mux(swapped, even_negative, odd_negative)),
        ]
        moved, lost = shift_right_narrow(m, low, bits, distance, "low_shifted")
        terms = [
            (Mux(swapped, odd, even), Mux(swapped, odd_negative, even_negative)),
            (moved, low_negative),
            (lost & low_negative, Const(1, 1)),
        ]
        magnitude, negative = signed_sum(m, terms, bits)
        m.d.comb += [
            o.sum.eq(magnitude),
            o.sign.eq(Mux(i.inf, i.sign_of_infinity, negative)),
            o.dropped.eq(i.dropped | lost),
        ]
        forward(m, i, o, *self._passed)
        return m

    def _sum(self, m: Module, name: str) -> tuple[Value, Value]:
        terms = [(self.i[term], self.i[f"{term}_sign"]) for term in half(self._unit, name)]
        magnitude, negative = signed_sum(m, terms, self._bits)
        return magnitude, negative


class AddAddend(Step):
    """Add the addend to the sum of all products.

    The addend and the sum are first aligned to the larger of their two exponents, then truncated with the mode `floor`.
    """

    name = "add_addend"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        fmt, engine = unit.engine.addend_format, unit.engine
        assert engine.window.width is not None and engine.window.interleaved is not None
        self._format, self._window, self._ranks = fmt, engine.window.width, i["top"].shape
        self._above, self._below = places_above(unit), engine.window.interleaved + 1 - engine.window.width
        self._bits = sum_bits(unit) + self._below
        o = {
            "sum": self._bits,
            "exponent": self._ranks,
            "sign": 1,
            "dropped": 1,
            "subtract": 1,
            **dict.fromkeys(SPECIAL, 1),
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        addend = unpack_addend(m, self._format, i.c)
        rank = Signal(Signal(self._ranks).shape())
        distances = [Signal(range(len(self._ranks)), name=f"distance_of_{n}") for n in ("products", "addend")]
        m.d.comb += [
            rank.eq(addend.exponent + self._above),
            o.exponent.eq(Mux(i.top > rank, i.top, rank)),
            distances[0].eq(o.exponent - i.top),
            distances[1].eq(o.exponent - rank),
        ]
        products = Cat(Const(0, self._below), i.sum)
        products, lost = shift_right_narrow(m, products, self._bits, distances[0], "products_shifted")
        value, cut, floored = self._cut_addend(m, addend, distances[1])
        units = Cat(lost & i.sign, Const(0, self._below - 1), floored)
        terms = [(products, i.sign), (Cat(Const(0, self._below), value), addend.sign), (units, Const(1, 1))]
        magnitude, negative = signed_sum(m, terms, self._bits)
        m.d.comb += [
            o.sum.eq(magnitude),
            o.sign.eq(Mux(o.inf, Mux(i.inf, i.sign, addend.sign), negative)),
            o.dropped.eq(i.dropped | lost | cut),
        ]
        self._classify(m, addend)
        return m

    def _cut_addend(
        self, m: Module, addend: data.View[data.StructLayout], distance: Value
    ) -> tuple[Value, Value, Value]:
        # The results are the truncated addend, whether truncation lost bits, and whether floor truncation lowers the
        # addend. Floor truncation subtracts 1 in the last place of a negative addend that loses bits. An addend far
        # below the window becomes 0 instead, and floor truncation subtracts nothing.
        width = self._above + 1 + self._window
        significand = Cat(addend.significand, Const(0, self._above))
        bits, lost = shift_right_narrow(m, significand, max(width, len(significand)), distance, "addend_shifted")
        cut = Signal()
        m.d.comb += cut.eq(lost | bits[:-width].any())
        return bits[-width:], cut, cut & addend.sign & (distance <= self._window + 1)

    def _classify(self, m: Module, addend: data.View[data.StructLayout]) -> None:
        # NaN has priority over infinity, and infinity has priority over a finite sum.
        i, o = self.i, self.o
        quiet = addend.nan | (i.nan & ~i.invalid)
        invalid = i.invalid | (i.inf & addend.inf & (i.sign ^ addend.sign))
        m.d.comb += [
            o.inf.eq(i.inf | addend.inf),
            o.nan.eq(quiet | invalid),
            o.invalid.eq(invalid & ~quiet),
            o.subtract.eq(0),
        ]


class NormaliseFloor(NormaliseSum):
    """Normalise the sum, then round it down to `fraction_bits` fraction bits.

    The rounding bits are the remaining fraction bits below the significand of the result. If a negative sum loses bits,
    the circuit adds 1 to the magnitude's rounding bits, because rounding toward -infinity increases the magnitude. If
    all rounding bits (the bits below the result's significand) are 1, the circuit adds nothing, because rounding to
    nearest increases the significand anyway.

    The lowest last place of a sum is 2^`ulp`. If that is below the fraction bits of a subnormal sum, the circuit can
    round a positive sum down to zero. Such a result is inexact, but does not underflow.
    """

    def __init__(self, fmt: FixedFormat, places: int, i: data.StructLayout, fraction_bits: int, ulp: int) -> None:
        self._fraction_bits = fraction_bits
        self._floors_to_zero = ulp < fmt.min_normal_exponent - fraction_bits
        super().__init__(fmt, places, i, "dropped")
        self._passed = tuple(name for name in self._passed if name != "dropped")

    def rounding_bits(self, m: Module, below: Value) -> Value:
        floored = len(self.i.sum) - (self._fraction_bits + 1)
        kept, lost = below[floored:], Signal()
        bits = Signal(len(kept), name="rounding_bits")
        m.d.comb += [
            lost.eq(below[:floored].any()),
            bits.eq(kept + (lost & self.i.sign & ~kept.all())),
            self.o.dropped.eq(self.i.dropped | lost),
        ]
        return bits

    def kept_bits(self, normalised: Value, rounding_bits: Value) -> Value:
        return Cat(rounding_bits, normalised[-self._kept :]) if self._floors_to_zero else normalised
