"""Unpacking of an addend, a 16- or 32-bit number, without moving its bits."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9_rtl.parts.layouts import addend_layout, fields_layout


def unpack_addend(m: Module, fmt: FixedFormat, code: Value, name: str = "addend") -> data.View[data.StructLayout]:
    """An accumulator code as an addend; its signals are named `name`."""
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
