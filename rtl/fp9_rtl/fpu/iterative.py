"""Iterative division and square root in a multi-format FPU."""

# The divider is a pipeline register behind the operand decoders. During a division, some bits of the register change in
# every clock cycle:
#
#     dividend    dividend_above | a.significand | dividend_below     becomes the partial remainder
#     digits      c.significand | digits_below                        0 at first: the operation has no addend
#
# In every clock cycle, rows as in `fp9_rtl.fpu.divide` compute the next digits. The first digit is the highest bit. The
# dividend is half of that in `fp9_rtl.fpu.divide`, so that all rows double the partial remainder.

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9.units import MultiFpu
from fp9_rtl.casts.lanes import lane_name
from fp9_rtl.fpu.divide import INTEGER_BITS, quotient_bits, trial_subtraction
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import forward
from fp9_rtl.pipelines.elastic import StreamComponent

View: TypeAlias = "data.View[data.StructLayout]"


class Divider(StreamComponent):
    """Sequential circuit that holds a decoded operation, and computes quotients and roots in several clock cycles.

    The output has an additional field `digits` in each lane: the significand of the quotient or root. All lanes divide
    in the same clock cycles. A reset discards the operation.
    """

    def __init__(self, unit: MultiFpu, lanes: Sequence[MultiFpu], i: data.StructLayout) -> None:
        self._unit = unit
        names = map(lane_name, range(len(lanes)))
        if not unit.lane_widths:
            self._lanes = {"": LaneDivider(unit, unit, i)}
            super().__init__(i, self._lanes[""].o.shape())
            return
        self._lanes = {name: LaneDivider(unit, lane, i[name].shape) for name, lane in zip(names, lanes, strict=True)}
        divided = {name: lane.o.shape() for name, lane in self._lanes.items()}
        super().__init__(i, data.StructLayout({name: field.shape for name, field in i} | divided))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        valid, iterates, takes = Signal(name="valid"), Signal(), Signal()
        # An operation enters with a count of 0, so the counter needs no reset.
        count = Signal(range(self._unit.extra_clocks + 1), reset_less=not self._unit.reset_data)
        first = next(iter(self._lanes.values())).o
        m.d.comb += [
            iterates.eq(valid & (first.divide | first.root) & (count != self._clocks(m, first))),
            o.valid.eq(valid & ~iterates),
            i.ready.eq(~valid | (~iterates & o.ready)),
            takes.eq(i.ready & i.valid),
        ]
        with m.If(i.ready):
            m.d.sync += [valid.eq(i.valid), count.eq(0)]
        with m.If(iterates):
            m.d.sync += count.eq(count + 1)
        for name, lane in self._lanes.items():
            m.submodules[name or "lane"] = lane
            given, result = (side.payload[name] if name else side.payload for side in (i, o))
            m.d.comb += [lane.i.eq(given), result.eq(lane.o)]
            m.d.comb += [lane.takes.eq(takes), lane.iterates.eq(iterates), lane.count.eq(count)]
        if self._unit.lane_widths:
            vector = Signal.like(i.payload.vector, name="vector", reset_less=not self._unit.reset_data)
            m.d.comb += o.payload.vector.eq(vector)
            with m.If(takes):
                m.d.sync += vector.eq(i.payload.vector)
        return m

    def _clocks(self, m: Module, held: View) -> Value:
        clocks = Signal(range(self._unit.extra_clocks + 1))
        select = held.target if "target" in held.shape().members else Const(0, 0)
        for fmt in switch(m, select, self._unit.formats):
            m.d.comb += clocks.eq(self._unit.division_clocks(fmt))
        return clocks


class LaneDivider(wiring.Component):
    """Operation register of one lane, and the rows of subtractors that compute the lane's quotients and roots. `lane`
    is the specification of this lane, and `unit` is the specification of the whole FPU.

    The register stores the operation `i` in a clock cycle with `takes` = 1. In a clock cycle with `iterates` = 1, each
    subtractor row computes the next bit of the quotient or root. `count` is the number of earlier iterations.
    """

    def __init__(self, unit: MultiFpu, lane: MultiFpu, i: data.StructLayout) -> None:
        self._unit, self._scale = unit, Scale.of(lane)
        rows, sticky = unit.division_rows, 1
        self._digits = -(-(quotient_bits(self._scale.precision) - sticky) // rows) * rows
        o = data.StructLayout({**{name: field.shape for name, field in i}, "digits": self._digits + sticky})
        count = range(unit.extra_clocks + 1)
        super().__init__({"i": In(i), "o": Out(o), "takes": In(1), "iterates": In(1), "count": In(count)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, precision = self.i, self.o, self._scale.precision
        free = not self._unit.reset_data
        held = Signal(i.shape(), reset_less=free)
        below = Signal(self._digits - 1 - precision, name="dividend_below", reset_less=free)
        above = Signal(INTEGER_BITS, name="dividend_above", reset_less=free)
        digits_below = Signal(self._digits - precision, reset_less=free)
        dividend, digits = Cat(below, held.a.significand, above), Cat(digits_below, held.c.significand)
        remainder, following = self._iteration(m, held, dividend, digits)
        with m.If(self.takes):
            odd = i.root & (i.a.exponent - self._scale.bias)[0]
            a = Mux(odd, i.a.significand << 1, i.a.significand)
            m.d.sync += [held.eq(i), dividend.eq(Cat(Const(0, len(below)), a)), digits_below.eq(0)]
        with m.If(self.iterates):
            m.d.sync += [dividend.eq(remainder), digits.eq(following)]
        divides = held.divide | held.root
        forward(m, held, o, *i.shape().members)
        m.d.comb += [
            o.c.significand.eq(held.c.significand & ~divides.replicate(precision)),
            o.digits.eq(Cat(dividend.any(), digits)),
        ]
        return m

    def _iteration(self, m: Module, held: View, remainder: Value, digits: Value) -> tuple[Value, Value]:
        rows, below = self._unit.division_rows, self._digits - self._scale.precision
        divisor = Cat(Const(0, below), held.b.significand)
        iterations = [self.count == number for number in range(self._digits // rows)]
        for row in range(rows):
            # The position of the row's digit in this iteration.
            highest_first = [now if each == row else Const(0, 1) for now in iterations for each in range(rows)]
            place = Cat(*reversed(highest_first))
            shifted = Cat(Const(0, 1), remainder)[: len(remainder)]
            trial = Mux(held.root, Cat(place, Const(0, 1)) | Cat(Const(0, 1), digits), divisor)
            digit, remainder = trial_subtraction(m, row, shifted, trial)
            digits = digits | (place & digit.replicate(len(place)))
        return remainder, digits
