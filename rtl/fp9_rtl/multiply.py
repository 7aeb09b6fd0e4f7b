"""From operand codes to an exact product: the front of every multiply-add."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data

from fp9.formats import FixedFormat, Format
from fp9.units import Fma, Mac
from fp9_rtl.facts import SumFacts
from fp9_rtl.layouts import PRODUCT_SIGNIFICAND_BITS, ports_layout, product_layout
from fp9_rtl.operand import OperandDecoder
from fp9_rtl.step import Step, forward


def _offset(formats: tuple[Format, ...]) -> int:
    """Exponent offset with which the format of the widest exponent field passes through as it stands."""
    fixed = [fmt for fmt in formats if isinstance(fmt, FixedFormat)]
    return max(fixed, key=lambda fmt: fmt.exponent_bits).bias if fixed else 0


class DecodeOperands(Step):
    """The codes of a and b to their fields; the ports named in `passed` go through."""

    name = "decode"
    levels = 8

    def __init__(self, unit: Fma | Mac, passed: tuple[str, ...]) -> None:
        self._decoders = {
            "a": OperandDecoder(unit.a, unit.bias_port, _offset(unit.a)),
            "b": OperandDecoder(unit.b, unit.bias_port, _offset(unit.b)),
        }
        self._passed = passed
        i = ports_layout(unit.inputs)
        fields = {name: decoder.operand.shape() for name, decoder in self._decoders.items()}
        super().__init__(i, data.StructLayout({**fields, **{name: i[name].shape for name in passed}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = self.i.shape().members
        for operand, decoder in self._decoders.items():
            m.submodules[f"decode_{operand}"] = decoder
            m.d.comb += [decoder.code.eq(self.i[operand]), self.o[operand].eq(decoder.operand)]
            if f"{operand}_format" in ports:
                m.d.comb += decoder.select.eq(self.i[f"{operand}_format"])
            if f"{operand}_bias" in ports:
                m.d.comb += decoder.extra_bias.eq(self.i[f"{operand}_bias"])
        forward(m, self.i, self.o, *self._passed)
        return m


class Multiply(Step):
    """The exact product, normalised; its exponent is on the scale of the result's exponent field."""

    name = "multiply"
    levels = 16

    def __init__(self, unit: Fma | Mac, facts: SumFacts, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        result = unit.engine.result
        assert isinstance(result, FixedFormat)
        self._passed = passed
        self._rebias = result.bias - _offset(unit.a) - _offset(unit.b)
        product = product_layout(range(facts.products.start + result.bias, facts.products.stop + result.bias))
        super().__init__(i, data.StructLayout({"product": product, **{name: i[name].shape for name in passed}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, product = self.i.a, self.i.b, self.o.product
        significand = Signal(PRODUCT_SIGNIFICAND_BITS)  # 2.6, in [1, 4) unless zero
        at_least_two = significand[-1]
        m.d.comb += [
            significand.eq(a.significand * b.significand),
            product.significand.eq(Mux(at_least_two, significand, Cat(Const(0, 1), significand))),
            product.exponent.eq(a.exponent + b.exponent + at_least_two + self._rebias),
            product.sign.eq(a.sign ^ b.sign),
            product.zero.eq(a.zero | b.zero),
            product.inf.eq(a.inf | b.inf),
            product.nan.eq(a.nan | b.nan),
            product.invalid.eq((a.inf & b.zero) | (a.zero & b.inf)),
        ]
        forward(m, self.i, self.o, *self._passed)
        return m
