"""Integer operands and results of a multi-format FPU.

An integer operand becomes two terms of the exact sum. An integer result is a sum rounded to a multiple of 1.
"""

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.units import MultiFpu
from fp9_rtl.casts.encode import Encode
from fp9_rtl.casts.target import CastTarget
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step, forward

View: TypeAlias = "data.View[data.StructLayout]"


def integer_terms(m: Module, unit: MultiFpu, scale: Scale, ports: View) -> tuple[View, View]:
    """Return the upper and the lower half of the integer's magnitude as operands."""
    extended = Signal(unit.word, name="integer")
    magnitude, negative = Signal(unit.word, name="integer_magnitude"), Signal(name="integer_is_negative")
    for integer in switch(m, ports.integer_format, unit.integers):
        code = ports.a[: integer.bits]
        m.d.comb += [
            extended.eq(code.as_signed() if integer.signed else code),
            negative.eq(code[-1] & integer.signed),
        ]
    m.d.comb += magnitude.eq((extended ^ negative.replicate(unit.word)) + negative)
    half = scale.precision
    terms = []
    for name, bits, exponent in (("upper", magnitude[half:], 2 * half - 1), ("lower", magnitude[:half], half - 1)):
        term = Signal(scale.layout, name=f"{name}_half")
        m.d.comb += [
            term.significand.eq(bits),
            term.exponent.eq(exponent + scale.bias),
            term.sign.eq(negative),
            term.zero.eq(~bits.any()),
        ]
        terms.append(term)
    return terms[0], terms[1]


class IntegerTarget(CastTarget):
    """The target of all integers. Every number below the limit has its last place at 1, like a subnormal number.

    A number is called normal if its magnitude is too large for every integer format.
    """

    lowest_fraction_bits = 1
    floor = -1
    has_subnormals = False

    def __init__(self, unit: MultiFpu, bias: int) -> None:
        self.lowest = max(integer.bits for integer in unit.integers)
        self.fraction_bits, self.highest = self.lowest - 1, self.lowest - 1
        super().__init__(unit.formats[-1], bias, 1)

    def places(self, m: Module, exponent: Value, window: int, places: Signal) -> None:
        with m.If(exponent < self.bias - 1):
            m.d.comb += places.eq(window + 2)
        with m.Elif(exponent < self.bias + self.lowest):
            m.d.comb += places.eq(window + self.bias - exponent)

    def encode(self, m: Module, exponent: Value, kept: Value, normal: Value) -> tuple[Value, Value]:
        raise NotImplementedError("EncodeIntegers encodes integers")


class EncodeIntegers(Step):
    """Encode the result as a number or as an integer.

    An integer beyond its format's limits becomes the nearest limit and raises only `invalid`. NaN becomes the
    highest integer (RISC-V, F extension). The fields `beside` pass through, `integer_format` among them.
    """

    name = "encode"

    def __init__(self, unit: MultiFpu, encode: Encode, beside: dict[str, data.ShapeLike]) -> None:
        self._unit, self._encode, self._beside = unit, encode, beside
        i, o = ({name: field.shape for name, field in fields} for fields in (encode.i.shape(), encode.o.shape()))
        super().__init__(data.StructLayout({**i, **beside}), data.StructLayout({**o, **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        m.submodules.number = number = self._encode
        m.d.comb += [number.i[name].eq(i[name]) for name, _ in number.i.shape()]
        forward(m, number.o, o, "result", "flags")
        forward(m, i, o, *self._beside)
        with m.If(i.target == len(self._unit.formats)):
            self._integer(m)
        return m

    def _integer(self, m: Module) -> None:
        i, o, word = self.i, self.o, self._unit.word
        limit, negative, beyond = (
            Signal(word, name="limit"),
            Signal(name="is_negative"),
            Signal(name="is_beyond"),
        )
        magnitude = Signal(word, name="magnitude")
        m.d.comb += negative.eq(i.sign & ~i.nan)
        for integer in switch(m, i.integer_format, self._unit.integers):
            m.d.comb += limit.eq(Mux(negative, -integer.lowest, integer.highest))
        m.d.comb += [
            beyond.eq(i.nan | i.inf | (~i.zero & (i.normal | (i.kept > limit)))),
            magnitude.eq(Mux(beyond, limit, Mux(i.zero, 0, i.kept))),
            o.result.eq((magnitude ^ negative.replicate(word)) + negative),
            o.flags.eq(0),
            o.flags.invalid.eq(beyond),
            o.flags.inexact.eq(~beyond & ~i.zero & i.inexact),
        ]
