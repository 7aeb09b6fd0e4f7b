"""The exact sum of products that two scales multiply, and an addend (MX, NVFP4).

    products in fixed point -> their sum -> times the scales -> with its leading 1 in front -> + c -> one rounding

The sum of a block is exact, and so is its product with the scales: it meets the addend as a product of one term would.
Below the lowest exponent of the result it is moved right, and what it loses is sticky: it keeps some places below those
of the result, so that the sum rounds in the same way.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import Format, UnsignedFloat, floor_log2
from fp9.units import Dot, product_range
from fp9_rtl.parts.layouts import SPECIAL, product_layout
from fp9_rtl.parts.shifters import shift_left_normalising, shift_right_sticky
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.facts import SumFacts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums import adder
from fp9_rtl.sums.fixed.sum import placed_product
from fp9_rtl.sums.terms import classify, signed_sum

SCALES = ("a_scale", "b_scale")
"""The ports of the scales, which go beside the products."""

SCALED_NEEDED = (
    "an exact engine without chunks whose result has subnormals, and for operands with infinities a scale without zero"
)


def is_offered(unit: Dot) -> bool:
    """Whether there is hardware for the scales of a unit."""
    engine = unit.engine
    infinite_by_zero = unit.scale is not None and unit.scale.has_zero and any(f.has_inf for f in (*unit.a, *unit.b))
    return engine.is_fused and not engine.rounding.needs_bits and engine.result.subnormals and not infinite_by_zero


def sum_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    """From the products, the scales and `c` to result and flags, in one rounding."""
    summed = SumProducts(unit, i)
    scaled = ScaleSum(unit, summed.o.shape())
    product = scaled.o.shape()["product"].shape
    bias = unit.engine.result.bias
    exponents = product["exponent"].shape
    facts = SumFacts(range(exponents.start - bias, exponents.stop - bias), below_normal=True, overflow=True)
    added = adder.addition(unit.engine, facts, scaled.o.shape())
    return [summed, scaled, *added, Round(unit.engine, facts, added[-1].o.shape())]


class SumProducts(Step):
    """The exact sum of the products, in units of the last place of all, as magnitude and sign."""

    name = "sum"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        self._unit, self._rounding = unit, unit.engine.rounding
        self._bits = product_range(unit.a, unit.b, unit.bias_port).signed_bits(unit.products) - 1
        beside = {name: i[name].shape for name in (*SCALES, "c")}
        super().__init__(i, data.StructLayout({"sum": self._bits, "sign": 1, "zero_sign": 1, **SPECIAL, **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        names = self._unit.lane_names("product")
        products = [i[name] for name in names]
        plain = Const(0, 1)
        placed = [placed_product(m, self._unit, i[name], plain, self._bits, name) for name in names]
        terms = [(bits, product.sign) for bits, product in zip(placed, products, strict=True)]
        magnitude, negative = signed_sum(m, terms, self._bits)
        special = Signal(data.StructLayout({**SPECIAL, "subtract": 1}))
        infinite_sign = classify(m, products, None, special)
        m.d.comb += [
            o.sum.eq(magnitude),
            o.sign.eq(Mux(special.inf, infinite_sign, negative)),
            # Zeros of one sign keep it, any other zero is a cancellation.
            o.zero_sign.eq(Mux(special.subtract, self._rounding.cancels_to_minus, products[0].sign)),
            o.nan.eq(special.nan & ~special.invalid),
        ]
        forward(m, special, o, "inf", "invalid")
        forward(m, i, o, *SCALES, "c")
        return m


class ScaleSum(Step):
    """The sum times both scales as a product, its exponent on the scale of the result's field and 1 at least."""

    name = "scale"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        assert unit.scale is not None
        self._scale = ScaleFields(unit.scale)
        fmt = unit.engine.result
        ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
        self._bits = i["sum"].width + (2 * self._scale.precision if self._scale.precision > 1 else 0)
        width = max(self._bits, fmt.precision + adder.EXTRA_BITS)
        # The exponent of the first place where both fields of the scales are 0.
        self._first = ulp + self._bits - 1 + 2 * (self._scale.offset - self._scale.precision + 1) + fmt.bias
        lowest = self._first + 2 * self._scale.lowest_field - (self._bits - 1)
        self._sinks = lowest < 1
        highest = max(self._first + 2 * self._scale.highest_field, 1)
        product = product_layout(range(max(lowest, 1), highest + 1), width)
        super().__init__(i, data.StructLayout({"product": product, "c": i["c"].shape}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, product = self.i, self.o.product
        fields, significands, unusable, zero = self._scale.read(m, [i[name] for name in SCALES])
        exact = Signal(self._bits)
        m.d.comb += exact.eq(i.sum * (significands[0] * significands[1]) if self._scale.precision > 1 else i.sum)
        aligned = Cat(Const(0, len(product.significand) - self._bits), exact)
        normalised, shift = shift_left_normalising(m, aligned, None, Const(0))
        exponent, moved = fields[0] + fields[1] + self._first - shift, normalised
        if self._sinks:
            exponent, moved = self._sunk(m, exponent, normalised)
        finite_zero = Signal()
        m.d.comb += [
            finite_zero.eq(~i.sum.any() | zero),
            product.significand.eq(moved & (~finite_zero).replicate(len(moved))),
            product.exponent.eq(exponent),
            product.zero.eq(finite_zero & ~i.inf),
            product.sign.eq(Mux(finite_zero & ~i.inf, i.zero_sign, i.sign)),
            product.nan.eq(i.nan | unusable),
        ]
        forward(m, i, product, "inf", "invalid")
        forward(m, i, self.o, "c")
        return m

    def _sunk(self, m: Module, exponent: Value, significand: Value) -> tuple[Value, Value]:
        """A number below the lowest exponent at that exponent, moved right."""
        below = Signal.like(1 - exponent)
        distance = Signal(len(below) - 1)
        m.d.comb += [below.eq(1 - exponent), distance.eq(Mux(below > 0, below, 0))]
        moved, lost = shift_right_sticky(m, significand, distance)
        return Mux(below > 0, 1, 1 - below), moved | lost


class ScaleFields:
    """How codes of a scale's format are read: exponent fields, significands, NaN and zero.

    A scale is significand * 2^(field + `offset`), its first place counting as 1.
    """

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self.precision = fmt.precision
        self._fraction_bits = fmt.precision - 1
        self._subnormals = isinstance(fmt, UnsignedFloat) and fmt.subnormals
        code_of_field_1 = 1 << self._fraction_bits
        self.offset = floor_log2(fmt.value_of(code_of_field_1)) - 1
        self.lowest_field = int(self._subnormals)
        self.highest_field = fmt.max_code >> self._fraction_bits

    def read(self, m: Module, codes: list[Value]) -> tuple[list[Value], list[Value], Value, Value]:
        """Fields and significands of some codes, and whether one is NaN, or zero."""
        fields, significands, nans, zeros = [], [], [], []
        for number, code in enumerate(codes):
            field = code[self._fraction_bits :]
            lowest = field == 0 if self._subnormals else Const(0)
            exponent = Signal(len(field), name=f"scale_exponent{number}")
            significand = Signal(self.precision, name=f"scale_significand{number}")
            m.d.comb += [
                exponent.eq(field | lowest if self._subnormals else field),
                significand.eq(Cat(code[: self._fraction_bits], ~lowest)),
            ]
            fields.append(exponent)
            significands.append(significand)
            nans.append(code.all())
            zeros.append(~code.any() if self._format.has_zero else Const(0))
        return fields, significands, nans[0] | nans[1], zeros[0] | zeros[1]
