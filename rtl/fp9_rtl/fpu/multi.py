"""Datapath of a multi-format FPU: one decoder per operand, one multiplier, adder, normaliser and rounder.

decode -> multiply -> align -> add -> normalise -> place -> round -> encode -> finish. The stages place, round and
encode are those of the cast. The source number of these stages is the exact sum.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import fixed_format
from fp9.rounding import Flags, NanSign
from fp9.units import MultiFpu
from fp9.units.multi_fpu import ResultCast
from fp9_rtl.casts.cast_steps import Place
from fp9_rtl.casts.encode import Encode
from fp9_rtl.casts.round import RoundKept
from fp9_rtl.casts.target import CastTarget, cast_target
from fp9_rtl.fpu.choices import overflows
from fp9_rtl.fpu.decode import DecodeMulti
from fp9_rtl.fpu.integers import EncodeIntegers, IntegerTarget
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.fpu.sum import AddMulti, AlignMulti, MultiplyMulti, NormaliseMulti
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Beside, Step


def lane_steps(unit: MultiFpu) -> list[Step]:
    """Return the stages of one lane."""
    decode = DecodeMulti(unit)
    multiply = MultiplyMulti(unit, decode.o.shape())
    align = AlignMulti(multiply.o.shape())
    add = AddMulti(align.o.shape())
    normalise = NormaliseMulti(unit, add.o.shape())
    exact = data.StructLayout({n: f.shape for n, f in normalise.o.shape() if n not in normalise.beside})
    rounded = _rounder(unit, exact, normalise.beside)
    return [decode, multiply, align, add, normalise, *rounded, Finish(unit, rounded[-1].o.shape())]


class PlaceBefore(Place):
    """The stage `Place` for tininess before rounding: a number below the smallest normal number is tiny even if it
    rounds to a normal number.
    """

    def _near_normal(self, m: Module, target: CastTarget) -> None:
        pass


def _rounder(unit: MultiFpu, i: data.StructLayout, beside: dict[str, data.ShapeLike]) -> list[Step]:
    cast = ResultCast(
        unit.name, fixed_format("fp32"), unit.formats, unit.roundings, overflows(unit), nan_sign=NanSign.LOST
    )
    bias = Scale.of(unit).bias
    targets = [cast_target(fmt, bias, 1) for fmt in unit.formats]
    place = (PlaceBefore if unit.tiny_before_rounding else Place)(
        cast, [*targets, *(IntegerTarget(unit, bias) for _ in unit.integers[:1])], i
    )
    rounded = RoundKept(cast, place.o.shape())
    encode = Encode(cast, targets, rounded.o.shape())
    last = EncodeIntegers(unit, encode, beside) if unit.integers else Beside(encode, beside)
    return [Beside(place, beside), Beside(rounded, beside), last]


class Finish(Step):
    """Select the rounded sum or the result that needs no rounding. Add flags and tag.

    A narrow code is NaN-boxed: the bits above it are 1.
    """

    name = "finish"

    def __init__(self, unit: MultiFpu, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, unit = self.i, self._unit
        members = i.shape().members
        code = i.result | self._boxes(m)
        rounded = i.rounded if "rounded" in members else Const(1, 1)
        other = i.other if "rounded" in members else Const(0, 0)
        m.d.comb += self.o.result.eq(Mux(rounded, code, other))
        if unit.flags:
            flags = Signal.like(i.flags.as_value())
            invalid = Cat(Const(0, len(flags) - 1), Const(1, 1))
            m.d.comb += [
                flags.eq(i.flags.as_value() & (rounded & ~i.invalid).replicate(len(flags))),
                self.o.flags.eq(flags | Mux(i.invalid, invalid, 0)),
            ]
            if "by_zero" in members:
                with m.If(i.by_zero & rounded & ~i.invalid):
                    m.d.comb += self.o.flags.eq(Flags.DIVIDE_BY_ZERO)
        if unit.tag:
            m.d.comb += self.o.result_tag.eq(i.tag)
        return m

    def _boxes(self, m: Module) -> Value:
        unit = self._unit
        boxes = Signal(unit.word)
        if unit.nan_boxing:
            select = self.i.result_target if len(unit.formats) > 1 else Const(0, 0)
            for fmt in switch(m, select, unit.formats):
                m.d.comb += boxes.eq((1 << unit.word) - (1 << fmt.bits))
        return boxes
