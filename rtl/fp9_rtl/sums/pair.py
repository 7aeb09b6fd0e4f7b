"""Add two products and an addend exactly, in a window aligned to the largest term."""

# The addition window has little more than 2 (p + 1) bits, where p + 1 is the width of the result's significand. The
# terms are sorted by exponent. Bit positions count down from the leading bit of the first term:
#
#     position  0        -p-2           -2p-3 | sticky
#     first   xxxxxxxxxxx.                  |
#     second    xxxxxxxxxxx                 |            never truncated where it can cancel the first
#     third             xxxxxxxxxxx  ...    | xxxxx      truncated only if it is far below the sum of the first two
#
# The sum of the first two terms is either 0 or at least 2^(-p-1). If the third term loses bits by truncation, it is
# below 2^(-p-3), so the window holds all bits that correct rounding needs. If the first two terms cancel to 0, the
# sum is the third term, of which no bit is lost.
#
# If truncation removes bits of the second term, it also removes bits of the third term. Both together are then below
# 2^(-p-3), so the sum rounds to the first term. The inexact flag depends on whether they cancel each other.
#
# Directed rounding is not supported, because it can round the total to a neighbour of the first term. No product may
# be below the result's normal numbers, because there is no right shift for subnormal results.

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.parts.layouts import PRODUCT_SIGNIFICAND_BITS, SPECIAL
from fp9_rtl.parts.shifters import shift_right_narrow
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.sums.adder import significand_bits
from fp9_rtl.sums.terms import NormaliseSum, classify, signed_sum

HEADROOM = 2
"""Number of bit positions above the largest term that the sum of three terms can reach."""


def window_bits(fmt: FixedFormat) -> int:
    return 2 * significand_bits(fmt) + 2


def term_layout(significand: int, exponents: range) -> data.StructLayout:
    return data.StructLayout({"significand": significand, "exponent": exponents, "sign": 1})


class AlignPair(Step):
    """Find the term with the largest exponent, and shift the two other terms right.

    For each shifted term, one sticky bit collects the bits that were shifted out. If a shifted term lost bits, `cut` is
    1 and `cut_term` is this term before the shift. If both shifted terms lost bits and do not cancel, `both_cut` is 1.
    The first product may have a longer significand than the second product only if the second product is zero. If no
    significand is wider than two thirds of the window, the shift drops no bit of a term that can cancel another term.
    """

    name = "align"

    def __init__(self, fmt: FixedFormat, i: data.StructLayout) -> None:
        self._format = fmt
        products = [i[f"product{lane}"].shape for lane in range(2)]
        exponents = [product["exponent"].shape for product in products]
        # The exponent of a zero term is below all other exponents.
        start = min(e.start for e in exponents)
        self._below = 0 if start > 0 else start - 1
        highest = max(*(e.stop for e in exponents), 1 << fmt.exponent_bits)
        longest = max(significand_bits(fmt), products[0]["significand"].width)
        self._term = term_layout(longest, range(self._below, highest))
        window = window_bits(self._format) + 1
        o = {
            "first": self._term,
            "high": window,
            "low": window,
            "high_opposite": 1,
            "low_opposite": 1,
            "cut_term": self._term,
            "cut": 1,
            "both_cut": 1,
            "subtract": 1,
            "sign_of_infinity": 1,
            **SPECIAL,
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o = self.o
        unpacked = unpack_addend(m, self._format, self.i.c)
        lanes = [self._product(m, lane) for lane in range(2)]
        addend, high, low, second = (Signal(self._term, name=n) for n in ("addend", "high", "low", "second"))
        m.d.comb += [
            addend.significand.eq(self._aligned(unpacked.significand)),
            addend.exponent.eq(Mux(unpacked.zero, self._below, unpacked.exponent)),
            addend.sign.eq(unpacked.sign),
        ]
        swapped, addend_first = Signal(), Signal()
        reached = [addend.exponent >= lane.exponent for lane in lanes]
        m.d.comb += [
            swapped.eq(lanes[1].exponent > lanes[0].exponent),
            addend_first.eq(Mux(swapped, reached[1], reached[0])),
            high.eq(Mux(swapped, lanes[1].as_value(), lanes[0].as_value())),
            low.eq(Mux(swapped, lanes[0].as_value(), lanes[1].as_value())),
            o.first.eq(Mux(addend_first, addend.as_value(), high.as_value())),
            second.eq(Mux(addend_first, high.as_value(), addend.as_value())),
        ]
        self._shift(m, second, low)
        m.d.comb += o.sign_of_infinity.eq(classify(m, [self.i.product0, self.i.product1], unpacked, o))
        return m

    def _product(self, m: Module, lane: int) -> data.View[data.StructLayout]:
        # The exponent of a zero product is set below all other exponents.
        product = self.i[f"product{lane}"]
        term = Signal(self._term, name=f"term{lane}")
        m.d.comb += [
            term.significand.eq(self._aligned(product.significand)),
            term.exponent.eq(Mux(product.zero, self._below, product.exponent)),
            term.sign.eq(product.sign),
        ]
        return term

    def _aligned(self, significand: Value) -> Value:
        return Cat(Const(0, self._term["significand"].width - len(significand)), significand)

    def _shift(self, m: Module, second: data.View[data.StructLayout], low: data.View[data.StructLayout]) -> None:
        o, window = self.o, window_bits(self._format)
        distances = []
        for name, term in (("second", second), ("low", low)):
            distance = Signal(len(term.exponent), name=f"{name}_distance")
            m.d.comb += distance.eq(o.first.exponent - term.exponent)
            distances.append(distance)
        high_bits, high_lost = shift_right_narrow(m, second.significand, window, distances[0], "second_shifted")
        low_bits, low_lost = shift_right_narrow(
            m, low.significand[-PRODUCT_SIGNIFICAND_BITS:], window, distances[1], "low_shifted"
        )
        cancel = (second.exponent == low.exponent) & (second.significand == low.significand) & (second.sign ^ low.sign)
        m.d.comb += [
            o.high.eq(Cat(high_lost, high_bits)),
            o.low.eq(Cat(low_lost, low_bits)),
            o.high_opposite.eq(second.sign ^ o.first.sign),
            o.low_opposite.eq(low.sign ^ o.first.sign),
            o.cut.eq(high_lost | low_lost),
            o.cut_term.eq(Mux(low_lost, low.as_value(), second.as_value())),
            o.both_cut.eq(high_lost & low_lost & ~cancel),
        ]


class AddPair(Step):
    """Add the three aligned terms, and return the sum as magnitude and sign.

    If two terms cancel and the third term lost bits in its alignment shift, the sum is the unshifted third term.
    """

    name = "add"

    def __init__(self, fmt: FixedFormat, i: data.StructLayout) -> None:
        self._significand = significand_bits(fmt)
        self._longest = i["first"].shape["significand"].width
        exponent = i["first"].shape["exponent"].shape
        o = {"sum": i["high"].width + HEADROOM, "exponent": exponent, "subtract": 1, "sign": 1, **SPECIAL}
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        bits = len(o.sum)
        first = Cat(Const(0, len(i.high) - self._longest), i.first.significand)
        terms = [(first, Const(0, 1)), (i.high, i.high_opposite), (i.low, i.low_opposite)]
        magnitude, negative = signed_sum(m, terms, bits)
        top = magnitude[-(self._significand + HEADROOM + 2) :]
        alone = Signal()
        in_place = Cat(Const(0, bits - HEADROOM - self._longest), i.cut_term.significand)
        m.d.comb += [
            alone.eq(i.cut & ~top.any()),
            o.sum.eq(Mux(alone, in_place, magnitude | i.both_cut)),
            o.exponent.eq(Mux(alone, i.cut_term.exponent, i.first.exponent)),
            o.sign.eq(Mux(i.inf, i.sign_of_infinity, i.first.sign ^ negative)),
        ]
        forward(m, i, o, "subtract", *SPECIAL)
        return m


def addition(fmt: FixedFormat, i: data.StructLayout) -> list[Step]:
    align = AlignPair(fmt, i)
    add = AddPair(fmt, align.o.shape())
    return [align, add, NormaliseSum(fmt, HEADROOM, add.o.shape())]
