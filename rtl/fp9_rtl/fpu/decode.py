"""First stage of a multi-format FPU: decode the input ports to the terms of an exact sum."""

# Every operation computes a sum a * b + c. Without operand b, the value of b is 1. Without operand c, the value of c
# is a zero that has the sign of the product. Comparisons, minimum and maximum compute a - c.

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import HiFloat8
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import SCALE_BITS, FpuGroup, MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import COMPARISONS, EXTREMA, PAIRS, SIGN_INJECTIONS, SINGLES
from fp9_rtl.fpu.choices import is_operation, overflows, targets, threshold_bits
from fp9_rtl.fpu.dot import dot_layout, dot_operands
from fp9_rtl.fpu.integers import integer_terms
from fp9_rtl.fpu.operand import Scale, unpack
from fp9_rtl.fpu.others import Others, others_layout
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import at_most, switch
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.hybrid import hybrid_threshold

_Op = MultiFpuOp
View: TypeAlias = "data.View[data.StructLayout]"

_NEGATED_PRODUCT = (_Op.FNMSUB, _Op.FNMADD)
_NEGATED_ADDEND = (_Op.FMSUB, _Op.FNMADD, _Op.SUB, *EXTREMA, *COMPARISONS)


class DecodeMulti(Step):
    """Decode factors and addend, select the rounding mode, and compute results that need no rounding."""

    name = "decode"

    def __init__(self, unit: MultiFpu) -> None:
        self._unit = unit
        self._scale = Scale.of(unit)
        i = ports_layout(unit.inputs)
        operand = self._scale.layout
        o: dict[str, data.ShapeLike] = {"a": operand, "b": self._factor_layout(), "c": operand, "single": 1}
        self._passed = [name for name in ("rounding", "integer_format", "random", "tag") if name in i.members]
        o |= {name: i[name].shape for name in self._passed}
        if unit.dot_products:
            o["dot"] = dot_layout(unit)
        if FpuGroup.DIVSQRT in unit.groups:
            o |= {"divide": 1, "root": 1}
        if targets(unit) > 1:
            o["target"] = range(targets(unit)) if unit.integers else i[unit.format_port("result")].shape
        if Rounding.HYBRID in unit.roundings:
            o |= {"threshold": threshold_bits(unit), "reads_source": 1}
        if len(overflows(unit)) > 1:
            o["overflow"] = range(len(overflows(unit)))
        super().__init__(i, data.StructLayout({**o, "others": others_layout(unit)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, o = self._unit, self.o
        operands = {name: unpack(m, unit, name, self.i[name], self._select(name)) for name in unit.operands}
        a = operands["a"]
        c = operands.get("c", a)
        m.d.comb += [o.a.eq(a), o.a.sign.eq(a.sign ^ self._is(*_NEGATED_PRODUCT))]
        self._factor(m, operands)
        self._addend(m, c)
        if unit.integers:
            self._integer(m)
        if unit.dot_products:
            dot_operands(m, unit, self.i, o.dot)
        if FpuGroup.DIVSQRT in unit.groups:
            m.d.comb += [o.divide.eq(self._is(_Op.DIV)), o.root.eq(self._is(_Op.SQRT))]
        if Rounding.HYBRID in unit.roundings:
            self._threshold(m)
        forward(m, self.i, o, *self._passed)
        self._target(m)
        if "overflow" in o.shape().members:
            self._overflow(m)
        if o.others.shape().members:
            Others(m, unit, self.i, a, c, o.others).drive()
        return m

    def _is(self, *ops: MultiFpuOp) -> Value:
        return is_operation(self._unit, self.i, *ops)

    def _select(self, name: str) -> Value:
        # Sign injections, minimum and maximum read operand c in the format of operand a.
        unit = self._unit
        if len(unit.formats) == 1:
            return Const(0, 0)
        own = self.i[unit.format_port(name)]
        if name != "c":
            return own
        return Mux(self._is(*SIGN_INJECTIONS, *EXTREMA), self.i[unit.format_port("a")], own)

    def _factor(self, m: Module, operands: dict[str, View]) -> None:
        one = Signal(self._scale.layout)
        m.d.comb += [one.significand.eq(1 << self._scale.precision - 1), one.exponent.eq(self._scale.bias)]
        b = operands.get("b", one)
        factor = Signal(self._scale.layout)
        m.d.comb += factor.eq(Mux(self._is(*PAIRS), b.as_value(), one.as_value()))
        forward(m, factor, self.o.b, *factor.shape().members)
        if self._unit.scale:
            with m.If(self._is(_Op.CONVERT)):
                m.d.comb += self.o.b.exponent.eq(self.i.scale + self._scale.bias)

    def _factor_layout(self) -> data.StructLayout:
        # The exponent field of factor b can also hold the power of two that scales a conversion.
        layout, bias = self._scale.layout, self._scale.bias
        if not self._unit.scale:
            return layout
        largest = 1 << SCALE_BITS - 1
        exponents = range(bias - largest, max(self._scale.field.stop, bias + largest))
        return data.StructLayout({name: f.shape for name, f in layout} | {"exponent": exponents})

    def _addend(self, m: Module, c: View) -> None:
        o, single = self.o, self._is(*SINGLES)
        none = Signal(self._scale.layout, name="no_addend")
        addend = Signal(self._scale.layout)
        m.d.comb += [
            none.zero.eq(1),
            addend.eq(Mux(single, none.as_value(), c.as_value())),
            o.c.eq(addend),
            o.c.sign.eq(addend.sign ^ self._is(*_NEGATED_ADDEND)),
            o.single.eq(single),
        ]

    def _integer(self, m: Module) -> None:
        # Feed the upper and the lower part of an integer operand into the sum in place of product and addend.
        o = self.o
        upper, lower = integer_terms(m, self._unit, self._scale, self.i)
        with m.If(self._is(_Op.FROM_INTEGER)):
            m.d.comb += [o.a.eq(upper), o.c.eq(lower), o.single.eq(0)]

    def _threshold(self, m: Module) -> None:
        unit, o = self._unit, self.o
        for fmt in switch(m, self._select("a"), unit.formats):
            if fmt in unit.hybrid_sources:
                threshold = hybrid_threshold(fmt, self.i.a, sum(HiFloat8.threshold_bits(fmt)))
                m.d.comb += [
                    o.threshold.eq(Cat(Const(0, len(o.threshold) - len(threshold)), threshold)),
                    o.reads_source.eq(self._is(_Op.CONVERT)),
                ]

    def _target(self, m: Module) -> None:
        # The last value of the rounding target stands for all integer formats.
        formats, o = self._unit.formats, self.o
        if "target" not in o.shape().members:
            return
        result: Value = self.i[self._unit.format_port("result")] if len(formats) > 1 else Const(0, 0)
        if self._unit.integers:
            result = Mux(self._is(_Op.TO_INTEGER), len(formats), at_most(result, len(formats) - 1))
        m.d.comb += o.target.eq(result)

    def _overflow(self, m: Module) -> None:
        unit, policies = self._unit, overflows(self._unit)
        wide, chosen = Signal(name="result_is_wide"), Signal(range(len(policies)))
        finite = Signal(name="result_is_finite")
        result = self.i[unit.format_port("result")] if len(unit.formats) > 1 else Const(0, 0)
        for fmt in switch(m, result, unit.formats):
            m.d.comb += [wide.eq(unit.fixed_overflow(fmt) is Overflow.DIRECTED), finite.eq(not fmt.has_nan)]
        own = self.i.overflow if "overflow" in self.i.shape().members else Const(0, 0)
        for policy in switch(m, own, unit.overflow_choices or policies[:1]):
            m.d.comb += chosen.eq(policies.index(policy))
        last = policies.index(Overflow.DIRECTED) if Overflow.DIRECTED in policies else 0
        m.d.comb += self.o.overflow.eq(Mux(wide, last, chosen))
        if Overflow.SATURATE in policies:
            with m.If(finite):
                m.d.comb += self.o.overflow.eq(policies.index(Overflow.SATURATE))
