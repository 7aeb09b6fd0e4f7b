"""Add a product and an addend exactly: align, add, normalise."""

# The adder does not round. It keeps the term with the larger exponent in place, and shifts the other term right:
#
#     larger    1.xxxxxxxxxxx|00|0
#     smaller       1.xxxxxxx|gr|s     s: OR of all bits further right
#
# Three extra bits are enough: at an alignment distance of two or more, the sum loses at most one leading bit.
#
# If a sum with a non-zero product is never subnormal, the adder treats both terms as normalised numbers, and compares
# exponents and leading bits, so the difference is never negative. A subnormal addend can be smaller than the product
# although its exponent is larger. If sums can be subnormal, the adder negates a negative difference, and the
# normaliser stops at the lowest exponent.

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.engines.engine import Engine
from fp9.formats import FixedFormat
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.parts.layouts import PRODUCT_SIGNIFICAND_BITS, SPECIAL
from fp9_rtl.parts.shifters import shift_left_normalising, shift_right_sticky
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.facts import SumFacts, can_be_subnormal
from fp9_rtl.rounding.rounder import drive_significand, rounder_layout

EXTRA_BITS = 3
"""Number of extra bits below the last place: guard, round and sticky."""


def significand_bits(fmt: FixedFormat, product: int = PRODUCT_SIGNIFICAND_BITS) -> int:
    return max(fmt.precision, product)


class Align(Step):
    """Find the larger term and shift the smaller term right.

    The input `c` is the code of the addend, or the fields of an addend that is already unpacked.
    """

    name = "align"

    def __init__(self, fmt: FixedFormat, facts: SumFacts, i: data.StructLayout) -> None:
        self._format = fmt
        self._turns = can_be_subnormal(fmt, facts)
        width = max(fmt.precision, i["product"].shape["significand"].width)
        product, field = i["product"].shape["exponent"].shape, range(1 << self._format.exponent_bits)
        o = {
            "larger": width,
            "smaller": width + EXTRA_BITS,
            "exponent": range(min(product.start, field.start), max(product.stop, field.stop)),
            "subtract": 1,
            "addend_alone": 1,
            "sign": 1,
            **SPECIAL,
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        product, addend = self.i.product, self.i.c
        if not isinstance(addend, data.View):
            addend = unpack_addend(m, self._format, addend)
        distance, product_larger = self._compare(m, addend)
        width = len(self.o.larger)
        product_significand = Cat(Const(0, width - len(product.significand)), product.significand)
        addend_significand = Cat(Const(0, width - len(addend.significand)), addend.significand)
        unshifted = Signal(width)
        m.d.comb += [
            self.o.larger.eq(Mux(product_larger, product_significand, addend_significand)),
            self.o.exponent.eq(Mux(product_larger, product.exponent, addend.exponent)),
            unshifted.eq(Mux(product_larger, addend_significand, product_significand)),
        ]
        shifted, lost = shift_right_sticky(m, Cat(Const(0, EXTRA_BITS - 1), unshifted), distance)
        m.d.comb += self.o.smaller.eq(Cat(lost, shifted))
        self._classify(m, addend, product_larger)
        return m

    def _compare(self, m: Module, addend: data.View[data.StructLayout]) -> tuple[Value, Value]:
        product = self.i.product
        difference = Signal.like(addend.exponent - product.exponent)
        distance = Signal(len(difference) - 1)
        below = difference < 0
        if self._turns:
            larger = below & ~product.zero
        else:
            longer = len(product.significand) - len(addend.significand)
            if longer > 0:  # compare the product's lower bits, too
                first_bits = Cat(Const(0, longer), addend.significand) < product.significand
            else:
                first_bits = addend.significand[-len(product.significand) :] < product.significand
            larger = ~product.zero & (addend.zero | below | ((difference == 0) & first_bits))
        product_larger = Signal()
        m.d.comb += [
            difference.eq(addend.exponent - product.exponent),
            distance.eq(Mux(below, -difference, difference)),
            product_larger.eq(larger),
        ]
        return distance, product_larger

    def _classify(self, m: Module, addend: data.View[data.StructLayout], product_larger: Value) -> None:
        # NaN has priority over infinity, and infinity has priority over a finite sum.
        product, o = self.i.product, self.o
        opposite = product.sign ^ addend.sign
        invalid = product.invalid | (product.inf & addend.inf & opposite)
        quiet = product.nan | addend.nan
        m.d.comb += [
            o.addend_alone.eq(product.zero & ~addend.zero),
            # If the product is zero, the sum keeps the addend's sign; two zeros of opposite sign cancel.
            o.subtract.eq(opposite & ~o.addend_alone),
            o.sign.eq(Mux(product.inf | (product_larger & ~addend.inf), product.sign, addend.sign)),
            o.inf.eq(product.inf | addend.inf),
            o.nan.eq(quiet | invalid),
            o.invalid.eq(invalid & ~quiet),
        ]


class Add(Step):
    """Add or subtract the aligned terms.

    If the difference of the two terms is negative, the adder negates it and inverts `sign`.
    """

    name = "add"

    def __init__(self, fmt: FixedFormat, facts: SumFacts, i: data.StructLayout) -> None:
        self._turns = can_be_subnormal(fmt, facts)
        o = {
            "sum": i["smaller"].width + 1,
            **{name: i[name].shape for name in ("exponent", "subtract", "addend_alone", "sign", *SPECIAL)},
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        larger = Cat(Const(0, EXTRA_BITS), self.i.larger)
        smaller, subtract = self.i.smaller, self.i.subtract
        borrow = Signal()
        m.d.comb += [
            borrow.eq(subtract & (larger < smaller) if self._turns else 0),
            self.o.sign.eq(self.i.sign ^ (borrow & ~self.i.inf)),
        ]
        # larger - smaller = larger + ~smaller + 1. The inverse of larger + ~smaller is smaller - larger.
        inverted = smaller ^ subtract.replicate(len(smaller))
        total = Signal(len(self.o.sum))
        m.d.comb += [
            total.eq(larger + inverted + (subtract & ~borrow)),
            self.o.sum.eq(
                Cat(total[:-1] ^ borrow.replicate(len(smaller)), total[-1] & ~subtract),
            ),
        ]
        forward(m, self.i, self.o, "exponent", "subtract", "addend_alone", *SPECIAL)
        return m


class Normalise(Step):
    """Shift the leading 1 of the sum to the top, and adjust the exponent.

    The bits below the result's precision become guard, round and sticky bits.
    """

    name = "normalise"

    def __init__(self, fmt: FixedFormat, facts: SumFacts, i: data.StructLayout) -> None:
        self._stops = can_be_subnormal(fmt, facts)
        self._kept = fmt.precision
        exponents = i["exponent"].shape
        width = i["sum"].width
        if fmt.subnormals:  # the missing leading 1 masks lower exponents
            exponents = range(0, exponents.stop + 1)
        else:
            exponents = range(exponents.start - width, exponents.stop + 1)
        passed = {name: i[name].shape for name in ("subtract", "sign", *SPECIAL)}
        super().__init__(i, rounder_layout(fmt, exponents, passed))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        limit = self.i.exponent if self._stops else None
        normalised, shift = shift_left_normalising(m, self.i.sum, limit, only_last=self.i.addend_alone)
        o = self.o
        drive_significand(m, o, normalised[-self._kept :], normalised[: -self._kept])
        m.d.comb += [
            o.exponent.eq(self.i.exponent + 1 - shift),
            o.zero.eq(~normalised.any() if self._stops else ~normalised[-1]),
        ]
        forward(m, self.i, self.o, "subtract", "sign", *SPECIAL)
        return m


def addition(engine: Engine, facts: SumFacts, i: data.StructLayout) -> list[Step]:
    align = Align(engine.addend_format, facts, i)
    add = Add(engine.result.format, facts, align.o.shape())
    return [align, add, Normalise(engine.result.format, facts, add.o.shape())]
