"""Sums in a window of K fraction bits below the largest exponent, every term truncated toward zero.

Significands are not normalised before they are aligned: a product 2.6 at the sum of its factors' exponents, subnormal
numbers at the lowest exponent of their format.

    exponent     +1  0 | -1 ...           -K |
    product      x   x | xxxxxx              |
    another              xxx  xxxxx          |
    addend           1 | xxxxxxxxxxxxxxxxxxxx| xxx   dropped

What is dropped makes the result inexact and changes nothing else.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9.units import Dot
from fp9_rtl.adder import EXTRA_BITS, SPECIAL, unpack_addend
from fp9_rtl.shifter import shift_right_narrow
from fp9_rtl.step import Step, forward
from fp9_rtl.terms import any_of, classify, signed_sum

_PLACES_ABOVE = 1
"""Places of a product above that of its exponent."""


def window_bits(unit: Dot) -> int:
    """Bits of the window: a product's two integer places and the fraction bits that are kept."""
    assert unit.engine.window is not None
    return _PLACES_ABOVE + 1 + unit.engine.window


def headroom(unit: Dot) -> int:
    """Places above the window that the sum of all terms can reach."""
    return unit.engine.products.bit_length()


class AlignWindow(Step):
    """All terms cut to the window below the largest exponent; `dropped` says that a bit which was cut off was 1."""

    name = "align"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        fmt = unit.engine.addend_format
        assert isinstance(fmt, FixedFormat)
        self._unit, self._format = unit, fmt
        self._products = unit.lane_names("product")
        highest = max(i[self._products[0]].shape["exponent"].shape.stop, 1 << fmt.exponent_bits)
        self._exponent = Signal(range(highest)).shape()
        terms = (*self._products, "addend")
        o = {
            **{name: window_bits(unit) for name in terms},
            **{f"{name}_sign": 1 for name in terms},
            "exponent": range(highest),
            "dropped": 1,
            "subtract": 1,
            "sign_of_infinity": 1,
            **SPECIAL,
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o = self.o
        addend = unpack_addend(m, self._format, self.i.c)
        products = [self.i[name] for name in self._products]
        # The exponent of a product is kept with the place above it, the addend's likewise.
        exponents = {name: self._ranked(m, name, self.i[name].exponent, self.i[name].zero) for name in self._products}
        exponents["addend"] = self._ranked(m, "addend", addend.exponent + _PLACES_ABOVE, addend.zero)
        m.d.comb += o.exponent.eq(self._largest(m, list(exponents.values())))
        values: dict[str, Value] = {name: self.i[name].significand for name in self._products}
        values["addend"] = Cat(addend.significand, Const(0, _PLACES_ABOVE))
        lost = [self._cut(m, name, value, exponents[name]) for name, value in values.items()]
        signs = {**{name: self.i[name].sign for name in self._products}, "addend": addend.sign}
        m.d.comb += [
            *(o[f"{name}_sign"].eq(sign) for name, sign in signs.items()),
            o.dropped.eq(any_of(lost)),
            o.sign_of_infinity.eq(classify(m, products, addend, o)),
        ]
        return m

    def _ranked(self, m: Module, name: str, exponent: Value, zero: Value) -> Signal:
        """An exponent that counts for the window: that of a zero stands below all others."""
        ranked = Signal(self._exponent, name=f"rank_of_{name}")
        m.d.comb += ranked.eq(Mux(zero, 0, exponent))
        return ranked

    def _largest(self, m: Module, exponents: list[Signal]) -> Signal:
        """The largest of all, by a tree of comparisons."""
        level = 0
        while len(exponents) > 1:
            level += 1
            larger = [Signal(self._exponent, name=f"largest_{level}_{i}") for i in range(len(exponents) // 2)]
            for signal, x, y in zip(larger, exponents[::2], exponents[1::2], strict=False):
                m.d.comb += signal.eq(Mux(x > y, x, y))
            exponents = [*larger, *exponents[2 * len(larger) :]]
        return exponents[0]

    def _cut(self, m: Module, name: str, value: Value, exponent: Signal) -> Value:
        """Drive a term's bits in the window; whether any was dropped."""
        distance = Signal(self._exponent, name=f"distance_of_{name}")
        window = window_bits(self._unit)
        m.d.comb += distance.eq(self.o.exponent - exponent)
        bits, lost = shift_right_narrow(m, value, max(window, len(value)), distance, f"shifted_{name}")
        m.d.comb += self.o[name].eq(bits[-window:])
        return lost | bits[:-window].any()


class AddWindow(Step):
    """The aligned terms as one sum, magnitude and sign."""

    name = "add"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        result = unit.engine.result
        assert isinstance(result, FixedFormat)
        self._terms = (*unit.lane_names("product"), "addend")
        self._bits = window_bits(unit) + headroom(unit)
        o = {
            "sum": max(self._bits, result.fraction_bits + 1 + EXTRA_BITS),
            "exponent": i["exponent"].shape,
            "sign": 1,
            **{name: i[name].shape for name in ("dropped", "subtract", *SPECIAL)},
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        terms = [(i[name], i[f"{name}_sign"]) for name in self._terms]
        magnitude, negative = signed_sum(m, terms, self._bits)
        m.d.comb += [
            o.sum.eq(Cat(Const(0, len(o.sum) - self._bits), magnitude)),
            o.sign.eq(Mux(i.inf, i.sign_of_infinity, negative)),
        ]
        forward(m, i, o, "exponent", "dropped", "subtract", *SPECIAL)
        return m
