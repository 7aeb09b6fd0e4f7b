"""Integer operands and integer results of a multi-format FPU."""

# An integer operand becomes two terms of the exact sum. An integer result is an exact sum, rounded to an integer.

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.units import MultiFpu
from fp9.units.multi_fpu import ResultCast
from fp9_rtl.casts.encode import Encode
from fp9_rtl.casts.round import RoundKept
from fp9_rtl.casts.target import CastTarget
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step, forward

View: TypeAlias = "data.View[data.StructLayout]"


def integer_terms(m: Module, unit: MultiFpu, scale: Scale, ports: View) -> tuple[View, View]:
    """Return the upper and the lower part of an integer operand as terms of the exact sum.

    All integers have their highest bits at the same position, as have all significands.
    """
    k, bits = scale.precision, scale.integer_bits
    aligned = Signal(bits, name="integer")
    negative = Signal(name="integer_is_negative")
    places = Signal(range(bits), name="integer_places")
    for integer in switch(m, ports.integer_format, unit.integers):
        code = ports.a[: integer.bits]
        m.d.comb += [
            aligned.eq(Cat(Const(0, bits - integer.bits), code)),
            places.eq(bits - integer.bits),
            negative.eq(code[-1] & integer.signed),
        ]
    magnitude = Signal(bits - k, name="upper_magnitude")
    m.d.comb += magnitude.eq((aligned[k:] ^ negative.replicate(bits - k)) + negative)
    terms = []
    for name, part, exponent, sign in (("upper", magnitude, bits - 1, negative), ("lower", aligned[:k], k - 1, 0)):
        term = Signal(scale.layout, name=f"{name}_part")
        m.d.comb += [
            term.significand.eq(Cat(Const(0, k - len(part)), part)),
            term.exponent.eq(exponent + scale.bias - places),
            term.sign.eq(sign),
            term.zero.eq(~part.any()),
        ]
        terms.append(term)
    return terms[0], terms[1]


class IntegerTarget(CastTarget):
    """Rounding target for integer formats, in which the last kept bit has the weight 1."""

    # Rounding to an integer is like rounding a subnormal number, whose last bit also has a fixed weight. A number that
    # is too large for every integer format counts as a normal number.

    floor = -1
    has_subnormals = False

    def __init__(self, unit: MultiFpu, bias: int) -> None:
        self.lowest = self.lowest_fraction_bits = max(integer.bits for integer in unit.integers)
        self.fraction_bits, self.highest = self.lowest - 1, self.lowest - 1
        super().__init__(unit.formats[-1], bias, 1)

    def places(self, m: Module, exponent: Value, window: int, places: Signal) -> None:
        raise NotImplementedError("PlaceMulti places integers")

    def encode(self, m: Module, exponent: Value, kept: Value, normal: Value) -> tuple[Value, Value]:
        raise NotImplementedError("EncodeIntegers encodes integers")


class RoundIntegers(RoundKept):
    """Round an exact sum to a floating-point number or to an integer in two's complement.

    One adder both rounds and negates: with the kept bits `kept` and the rounding bit `up`, -(kept + up) equals ~kept +
    (1 - up).
    """

    def __init__(self, unit: MultiFpu, cast: ResultCast, i: data.StructLayout) -> None:
        self._integer = len(unit.formats)
        super().__init__(cast, i)

    def _rounded(self, up: Value) -> Value:
        kept, negates = Cat(self.i.kept, Const(0, 1)), (self.i.target == self._integer) & self.i.sign
        return (kept ^ negates.replicate(len(kept))) + (up ^ negates)


class EncodeIntegers(Step):
    """Encode the rounded sum as a floating-point number or as an integer.

    An integer beyond the limits of its format becomes the nearest limit and raises only the flag `invalid`. The integer
    result for NaN is the largest integer (RISC-V, F extension).
    """

    name = "encode"

    def __init__(self, unit: MultiFpu, encode: Encode, beside: dict[str, data.ShapeLike]) -> None:
        self._unit, self._encode, self._beside = unit, encode, beside
        i, o = ({name: field.shape for name, field in fields} for fields in (encode.i.shape(), encode.o.shape()))
        super().__init__(data.StructLayout({**i, **beside}), data.StructLayout({**o, "result": unit.word, **beside}))

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
        # In the result word, the bits above the integer are copies of its sign bit, or 0 for an unsigned format.
        i, o, word = self.i, self.o, self._unit.word
        kept = Cat(i.kept, i.kept[-1].replicate(max(0, word - len(i.kept))))
        limit, too_large, beyond = Signal(word, name="limit"), Signal(name="is_too_large"), Signal(name="is_beyond")
        for integer in switch(m, i.integer_format, self._unit.integers):
            above = i.kept[integer.bits - integer.signed :]
            m.d.comb += [
                too_large.eq(above.any() & ~(above.all() & integer.signed)),
                limit.eq(Mux(i.sign & ~i.nan, integer.lowest, integer.highest)),
            ]
        m.d.comb += [
            beyond.eq(i.nan | i.inf | (~i.zero & (i.normal | too_large))),
            o.result.eq(Mux(beyond, limit, kept)),
            o.flags.eq(0),
            o.flags.invalid.eq(beyond),
            o.flags.inexact.eq(~beyond & i.inexact),
        ]
