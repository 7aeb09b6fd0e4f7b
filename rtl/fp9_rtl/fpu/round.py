"""Rounder of the dual-format FPU. One adder rounds sums to 16 bits, and also rounds 16-bit numbers to 8 bits."""

# Rounding to nearest with ties away adds half an ulp and drops all bits below the ulp. For a format with fewer
# fraction bits, the rounding bit is added at a higher position:
#
#     exponent|xxxxxxxxx|g      the 16-bit format: the guard bit is added to the last place
#     exponent|xx1......|       a target with 2 fraction bits: 1 is added to the first dropped bit

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9.units import Fpu
from fp9_rtl.parts.layouts import flags_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step

TARGET = "a_format"

CODE_BITS = 8


class RoundFpu(Step):
    """Round the sum once, and encode overflow, underflow and NaN as the result format requires.

    If the input `downcast` is 1, the result is rounded to 8 bits, and saturates on overflow.
    """

    name = "round"

    def __init__(self, unit: Fpu, i: data.StructLayout) -> None:
        self._format = unit.engine.result.format
        self._targets = unit.a
        super().__init__(i, data.StructLayout({"result": self._format.bits, "flags": flags_layout()}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, flags, fmt = self.i, self.o.flags, self._format
        code = Cat(i.significand[:-1], i.exponent).as_signed()
        half_ulp, narrow = Signal(fmt.fraction_bits), Signal(CODE_BITS - 1)
        rounded = Signal.like(code + half_ulp)
        dropped, too_large, too_small = Signal(), Signal(), Signal()
        m.d.comb += [
            half_ulp.eq(i.guard),
            rounded.eq(code + half_ulp),
            dropped.eq(i.guard | i.round | i.sticky),
            too_large.eq(rounded > fmt.max_code),
            too_small.eq(rounded <= 0),
        ]
        self._downcast(m, rounded[: fmt.bits], half_ulp, narrow, dropped, too_large, too_small)
        finite, overflow, underflow = Signal(), Signal(), Signal()
        m.d.comb += [
            finite.eq(~(i.zero | i.nan)),
            overflow.eq(finite & too_large),
            underflow.eq(finite & too_small),
            flags.inexact.eq(~i.nan & dropped | overflow | underflow),
            flags.underflow.eq(underflow),
            flags.overflow.eq(overflow),
            flags.invalid.eq(i.invalid),
        ]
        self._pack(m, rounded, narrow, finite & ~too_large & ~too_small, overflow)
        return m

    def _downcast(
        self,
        m: Module,
        rounded: Value,
        half_ulp: Signal,
        narrow: Signal,
        dropped: Signal,
        too_large: Signal,
        too_small: Signal,
    ) -> None:
        i, fmt = self.i, self._format
        with m.If(i.downcast):
            select = i[TARGET] if TARGET in i.shape().members else Const(0, 0)
            for target in switch(m, select, self._targets):
                assert isinstance(target, FixedFormat)
                places = fmt.fraction_bits - target.fraction_bits
                kept, rebias = rounded[places:], (fmt.bias - target.bias) << target.fraction_bits
                m.d.comb += [
                    half_ulp.eq(1 << places - 1),
                    narrow.eq(kept - rebias),
                    dropped.eq(i.significand[:places].any()),
                    too_large.eq(kept >= target.max_code + rebias + 1),
                    too_small.eq(kept < rebias + 1),
                ]

    def _pack(self, m: Module, rounded: Value, narrow: Value, kept: Value, overflow: Value) -> None:
        # If `kept` is 0, the result's magnitude is zero, the largest number, or NaN-Inf with all bits 1.
        i, bits = self.i, self._format.bits - 1
        number, ones, sign = Signal(), Signal(), Signal()
        m.d.comb += [
            number.eq(kept),
            ones.eq(i.nan | overflow),
            sign.eq(i.sign & (number | (overflow & i.downcast))),
        ]
        wide, short = ~i.downcast, i.downcast
        wide_code = (rounded[:bits] & (number & wide).replicate(bits)) | (ones & wide).replicate(bits)
        saturated = Cat(i.nan, ones.replicate(len(narrow) - 1))  # the largest number ends in 0
        narrow_code = (narrow & (number & short).replicate(len(narrow))) | (saturated & short.replicate(len(narrow)))
        m.d.comb += self.o.result.eq(Cat(wide_code, sign & wide) | Cat(narrow_code, sign & short))
