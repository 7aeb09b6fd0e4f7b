"""Build the datapath of the `mul` unit: decode, multiply, shift subnormal products, round."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data

from fp9.units import Mul, exponent_range
from fp9_rtl.parts.layouts import SPECIAL
from fp9_rtl.parts.shifters import shift_right_sticky
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.facts import SumFacts
from fp9_rtl.rounding.rounder import Round, drive_significand, rounder_layout
from fp9_rtl.sums.multiply import DecodeOperands, Multiply

_BELOW = 3
"""Number of bits that rounding needs below the result's last place: guard, round and sticky."""


def product_steps(unit: Mul) -> list[Step]:
    facts = product_facts(unit)
    decode = DecodeOperands(unit, ())
    multiply = Multiply(unit, facts, decode.o.shape(), ())
    place = PlaceProduct(unit, facts, multiply.o.shape())
    return [decode, multiply, place, Round(unit.engine, facts, place.o.shape())]


def product_facts(unit: Mul) -> SumFacts:
    (low_a, high_a), (low_b, high_b) = (exponent_range(formats, False) for formats in (unit.a, unit.b))
    products = range(low_a + low_b, high_a + high_b + 2)
    below_normal = products.start < unit.result.min_normal_exponent
    return SumFacts(products, below_normal, products[-1] >= unit.result.highest_exponent)


class PlaceProduct(Step):
    """Extend or reduce the product's significand to the result's precision.

    If a product is below the result's normal numbers, its significand is shifted right.
    """

    name = "place"

    def __init__(self, unit: Mul, facts: SumFacts, i: data.StructLayout) -> None:
        self._precision = unit.result.precision
        self._below_normal = facts.below_normal
        product = i["product"].shape
        self._length = max(product["significand"].width, self._precision + _BELOW)
        exponents = range(0, facts.products.stop + unit.result.bias + 1)
        passed = {"subtract": 1, "sign": 1, **SPECIAL}
        super().__init__(i, rounder_layout(unit.result, exponents, passed))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        product, o = self.i.product, self.o
        placed = Cat(Const(0, self._length - len(product.significand)), product.significand)
        lost = Const(0, 1)
        if self._below_normal:
            distance = Signal(range(max(2, 1 - _lowest(product.exponent.shape()))))
            m.d.comb += distance.eq(Mux(product.exponent < 1, 1 - product.exponent, 0))
            placed, lost = shift_right_sticky(m, placed, distance)
        drive_significand(m, o, placed[-self._precision :], Cat(lost, placed[: -self._precision]))
        m.d.comb += [
            o.exponent.eq(product.exponent),
            o.zero.eq(product.zero),
            o.nan.eq(product.nan | product.invalid),
            o.invalid.eq(product.invalid & ~product.nan),
        ]
        forward(m, product, o, "sign", "inf")
        return m


def _lowest(shape: data.ShapeLike) -> int:
    return -(1 << (shape.width - 1)) if shape.signed else 0
