"""Unpack 16- or 32-bit addends, and flush subnormal addends to zero."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from fp9.engines import Engine
from fp9.formats import FixedFormat
from fp9_rtl.parts.layouts import addend_layout, fields_layout
from fp9_rtl.parts.step import Step, forward


def unpack_addend(m: Module, fmt: FixedFormat, code: Value, name: str = "addend") -> data.View[data.StructLayout]:
    fields = data.View(fields_layout(fmt), code[fmt.padding :])
    addend = Signal(addend_layout(fmt), name=name)
    lowest = fields.exponent == 0
    leading = ~lowest if fmt.subnormals else ~addend.zero
    if fmt.nan_is_inf:
        inf, nan = Const(0), code[:-1].all()
    else:
        top = fields.exponent.all()
        inf, nan = top & ~fields.fraction.any(), top & fields.fraction.any()
    m.d.comb += [
        addend.zero.eq(lowest & ~fields.fraction.any()),
        addend.significand.eq(Cat(fields.fraction, leading)),
        addend.exponent.eq(fields.exponent | lowest if fmt.subnormals else fields.exponent),
        addend.sign.eq(fields.sign & (fmt.signed_zero | ~addend.zero)),
        addend.inf.eq(inf),
        addend.nan.eq(nan),
    ]
    return addend


def flush_addend(engine: Engine, i: data.StructLayout) -> list[Step]:
    fmt = engine.addend_format
    return [FlushAddend(fmt, i)] if engine.result.flush_addend and fmt.subnormals else []


class FlushAddend(Step):
    """Replace a subnormal addend `c` by a zero of the same sign. All other fields pass unchanged."""

    name = "flush"

    def __init__(self, fmt: FixedFormat, i: data.StructLayout) -> None:
        self._format = fmt
        super().__init__(i, i)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        code = self.i.c
        normal = data.View(fields_layout(self._format), code[self._format.padding :]).exponent.any()
        m.d.comb += self.o.c.eq(Cat(code[:-1] & normal.replicate(len(code) - 1), code[-1]))
        forward(m, self.i, self.o, *(name for name, _ in self.i.shape() if name != "c"))
        return m
