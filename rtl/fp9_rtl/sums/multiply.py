"""Decode operand codes and form exact products in every unit that multiplies."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat, Format, ScaledInteger
from fp9.units import Dot, Mul, significand_bits
from fp9_rtl.operands.decode import OperandDecoder, connect_ports
from fp9_rtl.parts.layouts import ports_layout, product_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.facts import SumFacts


def operand_offset(formats: tuple[Format, ...]) -> int:
    """Return the exponent bias of decoded operands: the bias of the widest exponent field."""
    fixed = [fmt for fmt in formats if isinstance(fmt, FixedFormat)]
    if fixed:
        return max(fixed, key=lambda fmt: fmt.exponent_bits).bias
    # If all formats are integers, the exponent of an operand's first bit is 0.
    integers = [fmt for fmt in formats if isinstance(fmt, ScaledInteger)]
    return integers[0].bias + 1 - significand_bits(integers) if integers else 0


class DecodeOperands(Step):
    """Decode all operands `a` and `b` to their fields, and forward the inputs that later stages read."""

    name = "decode"

    def __init__(self, unit: Dot | Mul, passed: tuple[str, ...], normalise: bool = True, aligned: bool = False) -> None:
        self._offered = offered = {"a": unit.a, "b": unit.b}
        self._pairs = tuple(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))
        self._decoders = {
            name: (operand, OperandDecoder(formats, unit.bias_port, operand_offset(formats), normalise, aligned))
            for operand, formats in offered.items()
            for name in unit.lane_names(operand)
        }
        self._passed = passed
        self._bypasses = unit.engine.nan.zero_bypass
        i = ports_layout(unit.inputs)
        fields = {name: decoder.operand.shape() for name, (_, decoder) in self._decoders.items()}
        super().__init__(i, data.StructLayout({**fields, **{name: i[name].shape for name in passed}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, (operand, decoder) in self._decoders.items():
            m.submodules[f"decode_{name}"] = decoder
            connect_ports(m, decoder, self.i, name, operand)
            m.d.comb += self.o[name].eq(decoder.operand)
        if self._bypasses:
            self._bypass(m)
        forward(m, self.i, self.o, *self._passed)
        return m

    def _bypass(self, m: Module) -> None:
        """Replace both factors by +0 if one is zero and the other is NaN-Inf (one code for NaN and infinity)."""
        merged = {operand: self._is_merged(m, operand, formats) for operand, formats in self._offered.items()}
        for a, b in self._pairs:
            x, y = (self._decoders[name][1].operand for name in (a, b))
            bypassed = Signal(name=f"bypass_{a}")
            m.d.comb += bypassed.eq((x.nan & merged["a"] & y.zero) | (y.nan & merged["b"] & x.zero))
            with m.If(bypassed):
                for name in (a, b):
                    m.d.comb += [self.o[name].nan.eq(0), self.o[name].zero.eq(1), self.o[name].sign.eq(0)]
                    m.d.comb += self.o[name].significand.eq(0)

    def _is_merged(self, m: Module, operand: str, formats: tuple[Format, ...]) -> Value:
        merged = Signal(name=f"{operand}_is_merged")
        select = self.i[f"{operand}_format"] if len(formats) > 1 else Const(0, 0)
        for fmt in switch(m, select, formats):
            m.d.comb += merged.eq(fmt.nan_is_inf)
        return merged


class Multiply(Step):
    """Form the exact product of each pair of operands.

    A normalised product begins with its leading 1. Units that add in fixed point or in an alignment window use products
    that are not normalised, whose first bit may be 0.
    """

    name = "multiply"

    def __init__(
        self,
        unit: Dot | Mul,
        facts: SumFacts,
        i: data.StructLayout,
        passed: tuple[str, ...],
        normalise: bool = True,
        bias: int | None = None,
    ) -> None:
        """Build the layouts for product exponents with the bias `bias`, by default the result's bias."""
        result = unit.engine.result.format
        bias = result.bias if bias is None else bias
        self._passed = passed
        self._normalise = normalise
        self._lanes = tuple(zip(*(unit.lane_names(name) for name in ("a", "b", "product")), strict=True))
        self._rebias = bias - operand_offset(unit.a) - operand_offset(unit.b)
        width = sum(i[unit.lane_names(name)[0]].shape["significand"].width for name in "ab")
        self._first_place = 1 + width - significand_bits(unit.a) - significand_bits(unit.b)
        above = bias + self._first_place - 1
        product = product_layout(range(facts.products.start + above, facts.products.stop + above), width)
        products = dict.fromkeys(unit.lane_names("product"), product)
        super().__init__(i, data.StructLayout({**products, **{name: i[name].shape for name in passed}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for a, b, product in self._lanes:
            self._multiply(m, self.i[a], self.i[b], self.o[product])
        forward(m, self.i, self.o, *self._passed)
        return m

    def _multiply(
        self,
        m: Module,
        a: data.View[data.StructLayout],
        b: data.View[data.StructLayout],
        product: data.View[data.StructLayout],
    ) -> None:
        significand = Signal(len(product.significand))
        exponent: Value = a.exponent + b.exponent + self._rebias
        m.d.comb += significand.eq(a.significand * b.significand)
        if self._normalise:
            at_least_two = significand[-1]
            m.d.comb += [
                product.significand.eq(Mux(at_least_two, significand, Cat(Const(0, 1), significand))),
                product.exponent.eq(exponent + at_least_two),
            ]
        else:
            m.d.comb += [product.significand.eq(significand), product.exponent.eq(exponent + self._first_place)]
        m.d.comb += [
            product.sign.eq(a.sign ^ b.sign),
            product.zero.eq(a.zero | b.zero),
            product.inf.eq(a.inf | b.inf),
            product.nan.eq(a.nan | b.nan),
            product.invalid.eq((a.inf & b.zero) | (a.zero & b.inf)),
        ]
