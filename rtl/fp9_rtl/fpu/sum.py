"""Exact sum of a multi-format FPU: multiply, align, add, normalise."""

# The term with the smaller exponent is shifted right:
#
#     larger    x.xxxxxxxxxxx|00|0
#     smaller       x.xxxxxxx|gr|s     s: OR of all bits further right; g and r if `Scale.extra_bits` includes them
#
# The rounder gets all bits of the normalised sum, because the position of a result's last bit depends on the format.

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.units import FpuGroup, MultiFpu
from fp9_rtl.fpu.divide import quotient_bits, quotient_exponents, quotient_term
from fp9_rtl.fpu.dot import DotField, dot_term
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.parts.layouts import product_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.shifters import shift_left_narrow, shift_right_sticky
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.sums.terms import signed_sum

View: TypeAlias = "data.View[data.StructLayout]"

ROUNDER_CHOICES = ("rounding", "target", "overflow", "random", "threshold", "reads_source")

CHOICES = (*ROUNDER_CHOICES, "integer_format", "by_zero", "tag", "others")


def choices_of(i: data.StructLayout) -> dict[str, data.ShapeLike]:
    return {name: i[name].shape for name in CHOICES if name in i.members}


EXACT_PRODUCT = "exact_product"

# Input fields of a normaliser whose shifter is shared by several lanes.
NORMALISED = ("normalised", "sticky", "shift")


class MultiplyMulti(Step):
    """Form the exact product of two factors.

    If the input has the field `exact_product`, this field is the product of the significands. A multiplier that several
    lanes share computes this product.
    """

    name = "multiply"

    def __init__(self, unit: MultiFpu, i: data.StructLayout) -> None:
        scale = Scale.of(unit)
        self._unit, self._scale, self._added = unit, scale, scale.sum_bias - scale.bias
        field = i["a"].shape["exponent"].shape
        factor = i["b"].shape["exponent"].shape
        exponents = range(factor.start, factor.stop + field.stop - 1)
        width = 2 * i["a"].shape["significand"].width
        addend = {name: f.shape for name, f in i["c"].shape} | {
            "exponent": range(self._added, field.stop + self._added)
        }
        o: dict[str, data.ShapeLike] = {"c": data.StructLayout(addend), "signaling": 1}
        if unit.dot_products:
            dot = DotField(unit)
            own, width = dot.exponents(scale.sum_bias), max(width, dot.bits)
            exponents = range(min(exponents.start, own.start), max(exponents.stop, own.stop))
            o["both_infinities"] = 1
        if FpuGroup.DIVSQRT in unit.groups:
            own = quotient_exponents(scale)
            width = max(width, i["digits"].width if "digits" in i.members else quotient_bits(scale.precision))
            exponents = range(min(exponents.start, own.start), max(exponents.stop, own.stop))
            o["by_zero"] = 1
        o = {"product": product_layout(exponents, width), **o}
        super().__init__(i, data.StructLayout({**o, **choices_of(i)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, product = self.i.a, self.i.b, self.o.product
        shared = EXACT_PRODUCT in self.i.shape().members
        significand = self.i[EXACT_PRODUCT] if shared else a.significand * b.significand
        m.d.comb += [
            product.significand.eq(Cat(Const(0, len(product.significand) - len(significand)), significand)),
            product.exponent.eq(a.exponent + b.exponent),
            product.sign.eq(a.sign ^ b.sign),
            product.zero.eq(a.zero | b.zero),
            product.inf.eq(a.inf | b.inf),
            product.nan.eq(a.nan | b.nan),
            product.invalid.eq((a.inf & b.zero) | (a.zero & b.inf)),
            self.o.signaling.eq(a.signaling | b.signaling | self.i.c.signaling),
            self.o.c.exponent.eq(self.i.c.exponent + self._added),
            self.o.c.sign.eq(Mux(self.i.single, a.sign ^ b.sign, self.i.c.sign)),
        ]
        forward(m, self.i.c, self.o.c, "significand", "zero", "inf", "nan", "signaling")
        forward(m, self.i, self.o, *choices_of(self.i.shape()))
        if self._unit.dot_products:
            with m.If(self.i.dot.selected):
                self._dot(m)
        if FpuGroup.DIVSQRT in self._unit.groups:
            term, by_zero = quotient_term(m, self.i, self._scale)
            with m.If(self.i.divide | self.i.root):
                self._replace(m, term)
                m.d.comb += self.o.by_zero.eq(by_zero)
        return m

    def _replace(self, m: Module, term: View) -> None:
        product = self.o.product
        m.d.comb += [
            *(product[name].eq(term[name]) for name in ("exponent", "sign", "zero", "inf", "nan", "invalid")),
            product.significand.eq(Cat(Const(0, len(product.significand) - len(term.significand)), term.significand)),
        ]

    def _dot(self, m: Module) -> None:
        o = self.o
        term, both_infinities, signaling = dot_term(m, self._unit, self.i.dot, o.c.sign, self._scale.sum_bias)
        self._replace(m, term)
        m.d.comb += [
            o.both_infinities.eq(both_infinities),
            o.signaling.eq(signaling | self.i.c.signaling),
        ]


class AlignMulti(Step):
    """Align product and addend, and compute the special results.

    A NaN result has priority over an infinite result. An infinite result has priority over a finite sum. If several
    lanes share a shifter, the outputs are the distance and which term is larger.
    """

    name = "align"

    def __init__(self, unit: MultiFpu, i: data.StructLayout, shared: bool = False) -> None:
        product, addend = i["product"].shape["exponent"].shape, i["c"].shape["exponent"].shape
        width = i["product"].shape["significand"].width
        terms: dict[str, data.ShapeLike] = {"larger": width, "smaller": width + Scale.of(unit).extra_bits}
        if shared:
            terms = {"product_larger": 1, "distance": len(Signal(addend) - Signal(product)) - 1}
        o = {
            **terms,
            "exponent": range(min(product.start, addend.start), max(product.stop, addend.stop)),
            "subtract": 1,
            "sign": 1,
            "inf": 1,
            "nan": 1,
            "invalid": 1,
            "same_infinity": 1,
        }
        super().__init__(i, data.StructLayout({**o, **choices_of(i)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        product, addend, o = self.i.product, self.i.c, self.o
        difference = Signal.like(addend.exponent - product.exponent)
        product_larger = Signal()
        m.d.comb += [
            difference.eq(addend.exponent - product.exponent),
            product_larger.eq(((difference < 0) | addend.zero) & ~product.zero),
            o.exponent.eq(Mux(product_larger, product.exponent, addend.exponent)),
        ]
        distance = difference[:-1] ^ difference[-1].replicate(len(difference) - 1)
        if "smaller" in o.shape().members:
            self._shift(m, product_larger, distance)
        else:
            m.d.comb += [o.product_larger.eq(product_larger), o.distance.eq(distance)]
        self._classify(m, product_larger)
        forward(m, self.i, o, *choices_of(self.i.shape()))
        return m

    def _shift(self, m: Module, product_larger: Value, distance: Value) -> None:
        product, addend, o = self.i.product.significand, self.i.c.significand, self.o
        width = len(o.larger)
        unshifted = Signal(width)
        addend = Cat(Const(0, width - len(addend)), addend)
        m.d.comb += [
            o.larger.eq(Mux(product_larger, product, addend)),
            # One place further right, so that the distance is ~difference = -difference - 1.
            unshifted.eq(Mux(product_larger, addend >> 1, product)),
        ]
        shifted, lost = shift_right_sticky(m, Cat(Const(0, len(o.smaller) - width - 1), unshifted), distance)
        m.d.comb += o.smaller.eq(Cat(lost, shifted))

    def _classify(self, m: Module, product_larger: Value) -> None:
        product, addend, o = self.i.product, self.i.c, self.o
        opposite, quiet = product.sign ^ addend.sign, product.nan | addend.nan
        both = self.i.both_infinities if "both_infinities" in self.i.shape().members else Const(0)
        m.d.comb += [
            # A zero product leaves the addend's sign alone; two zeros of opposite sign cancel.
            o.subtract.eq(opposite & ~(product.zero & ~addend.zero)),
            o.sign.eq(Mux(product.inf | (product_larger & ~addend.inf), product.sign, addend.sign)),
            o.inf.eq(product.inf | addend.inf),
            o.same_infinity.eq((product.inf & addend.inf & opposite) | both),
            o.nan.eq(quiet | product.invalid | o.same_infinity),
            # The product 0 x infinity is invalid even if the addend is a quiet NaN (RISC-V). If an operand is a quiet
            # NaN, the difference of two infinities does not raise `invalid`.
            o.invalid.eq(self.i.signaling | product.invalid | (o.same_infinity & ~quiet)),
        ]


class AddMulti(Step):
    """Add product and addend. The output of the adder is a magnitude and a sign."""

    name = "add"

    def __init__(self, i: data.StructLayout) -> None:
        self._passed = [name for name in i.members if name not in ("larger", "smaller", "sign")]
        o = {"sum": i["smaller"].width + 1, "sign": 1, **{name: i[name].shape for name in self._passed}}
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        extra = Const(0, len(i.smaller) - len(i.larger))
        terms = [(Cat(extra, i.larger), Const(0, 1)), (i.smaller, i.subtract)]
        magnitude, negative = signed_sum(m, terms, len(o.sum))
        m.d.comb += [o.sum.eq(magnitude), o.sign.eq(i.sign ^ (negative & ~i.inf))]
        forward(m, i, o, *self._passed)
        return m


class NormaliseMulti(Step):
    """Normalise the sum and remove its leading 1, which the result does not store.

    The output `fraction` has `bits` bits, or all bits of the sum if these are fewer. Its last bit is 1 if any further
    bit of the sum is 1. If several lanes share a shifter, the input is the normalised sum.
    """

    name = "normalise"

    def __init__(self, unit: MultiFpu, bits: int, i: data.StructLayout) -> None:
        self._unit = unit
        exponents = i["exponent"].shape
        furthest = i["sum"].width - 1 if "sum" in i.members else (1 << i["shift"].width) - 1
        self._kept = min(bits, furthest)
        others = i["others"].shape
        o: dict[str, data.ShapeLike] = {
            "fraction": self._kept,
            "exponent": range(exponents.start - furthest, exponents.stop),
            **dict.fromkeys(("sign", "zero", "inf", "nan"), 1),
            **{name: shape for name, shape in choices_of(i).items() if name in ROUNDER_CHOICES},
        }
        self.beside: dict[str, data.ShapeLike] = {"invalid": 1}
        if others.members:
            self.beside |= {"rounded": 1, "other": unit.word}
        self.beside |= {name: i[name].shape for name in ("integer_format", "by_zero", "tag") if name in i.members}
        if unit.nan_boxing and "target" in i.members:
            self.beside |= {"result_target": i["target"].shape}
        super().__init__(i, data.StructLayout({**o, **self.beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        if "sum" in i.shape().members:
            normalised, sticky, shift = shift_left_narrow(m, i.sum, self._kept, len(i.sum) - 1)
        else:
            normalised, sticky, shift = (i[name] for name in NORMALISED)
        minus = Signal()
        select = i.rounding if "rounding" in i.shape().members else Const(0, 0)
        for rounding in switch(m, select, self._unit.roundings):
            m.d.comb += minus.eq(rounding.cancels_to_minus)
        m.d.comb += [
            o.fraction.eq(Cat(sticky, normalised[:-1])),
            o.exponent.eq(i.exponent - shift),
            o.zero.eq(~normalised[-1]),
            o.sign.eq(Mux(o.zero & i.subtract & ~i.inf, minus, i.sign)),
        ]
        passed = [name for name in CHOICES if name in o.shape().members]
        forward(m, i, o, "inf", "nan", *passed)
        if "result_target" in self.beside:
            m.d.comb += o.result_target.eq(i.target)
        if "rounded" in self.beside:
            self._choose(m, ~normalised[-1])
        else:
            m.d.comb += o.invalid.eq(i.invalid)
        return m

    def _choose(self, m: Module, zero: Value) -> None:
        i, o, others = self.i, self.o, self.i.others
        equal, taken = Signal(), Signal(name="takes_first")
        m.d.comb += [
            equal.eq((zero & ~i.inf) | i.same_infinity),
            taken.eq(Mux(equal, others.if_equal, Mux(i.sign, others.if_less, others.if_greater))),
            o.rounded.eq(others.rounded),
            o.other.eq(Mux(taken, others.first, others.second)),
            o.invalid.eq(Mux(others.rounded, i.invalid, others.invalid)),
        ]
