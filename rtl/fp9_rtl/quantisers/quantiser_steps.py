"""Datapath of the `quantiser` unit: find the largest magnitude, compute the scale, cast."""

from __future__ import annotations

import itertools
from fractions import Fraction

from amaranth.hdl import Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data

from fp9.formats.blocks import ScaleRule
from fp9.formats.rounding import Rounding
from fp9.units import Quantiser
from fp9_rtl.casts.cast_steps import lane_steps
from fp9_rtl.casts.lanes import EachLane, lane_layout, lane_name, largest
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.quantisers.limits import Counted, Limits, Named
from fp9_rtl.quantisers.quotient import is_usable, over_tensor, ratio_bits, rounded_over
from fp9_rtl.quantisers.rules import divisor_of, scale_names, tries
from fp9_rtl.quantisers.scale import scale_code
from fp9_rtl.quantisers.tries import Better


def quantiser_steps(unit: Quantiser) -> list[Step]:
    amax = Largest(unit)
    return [amax, Scale(unit, amax.o.shape()), *element_steps(unit)]


def element_steps(unit: Quantiser) -> list[Step]:
    """Return the stages that quantise numbers to elements with a given block scale."""
    if not unit.block.powers_of_two:
        limits = Limits(unit, scaled_layout(unit))
        counted = Counted(unit, limits.o.shape())
        return [limits, counted, Better(unit, counted.o.shape()) if tries(unit) else Named(unit, counted.o.shape())]
    beside = {"scale": unit.block.scale.bits}
    sections = zip(*(lane_steps(unit.element) for _ in range(unit.width)), strict=True)
    casts = [EachLane(section, beside) for section in sections]
    return [Spread(unit), *casts, Elements(unit, casts[-1].o.shape())]


def scaled_layout(unit: Quantiser) -> data.StructLayout:
    numbers = dict.fromkeys(unit.lane_names("x"), unit.source.bits)
    return data.StructLayout({**numbers, "scale": unit.block.scale.bits, **beside_scale(unit)})


def beside_scale(unit: Quantiser) -> dict[str, int]:
    beside = {port.name: port.width for port in unit.inputs if port.name == "tensor"}
    if tries(unit):
        beside |= dict.fromkeys(scale_names(unit)[1:], unit.block.scale.bits) | {"amax": unit.source.bits - 1}
    return beside


def scales_of(m: Module, unit: Quantiser, amax: Value, operation: data.View[data.StructLayout]) -> dict[str, Value]:
    """Return the code of each candidate scale by field name."""
    make = _powers_of_two if unit.block.powers_of_two else _quotients
    return {
        name: _chosen(m, unit, amax, operation, codes)
        for name, codes in zip(scale_names(unit), make(m, unit, amax, operation), strict=True)
    }


def _chosen(
    m: Module, unit: Quantiser, amax: Value, operation: data.View[data.StructLayout], codes: dict[ScaleRule, Value]
) -> Value:
    scale = unit.block.scale
    may_be_negative = any(code.shape().signed for code in codes.values())
    chosen = Signal(Shape(max(map(len, codes.values())), signed=may_be_negative))
    select = operation.rule if len(unit.rules) > 1 else Const(0, 0)
    for rule in switch(m, select, unit.rules):
        m.d.comb += chosen.eq(codes[rule])
    code = Mux(chosen < 0, 0, chosen[: scale.bits]) if may_be_negative else chosen[: scale.bits]
    # The scale is NaN if amax is infinite or NaN, or if the tensor scale is not a positive normal number.
    special = amax > unit.source.max_code
    if unit.block.tensor:
        special |= ~is_usable(operation.tensor)
    return Mux(special, scale.nan_code(False), code)


def _powers_of_two(
    m: Module, unit: Quantiser, amax: Value, operation: data.View[data.StructLayout]
) -> list[dict[ScaleRule, Value]]:
    return [{rule: scale_code(m, amax, unit.source, unit.block, rule) for rule in unit.rules}]


def _quotients(
    m: Module, unit: Quantiser, amax: Value, operation: data.View[data.StructLayout]
) -> list[dict[ScaleRule, Value]]:
    scale, turns = unit.block.scale, range(len(scale_names(unit)))
    divisors = [{rule: divisor_of(unit, rule, turn) for rule in unit.rules} for turn in turns]
    bits = ratio_bits(scale, itertools.chain(*(by.values() for by in divisors)))
    ratio = over_tensor(m, amax, operation.tensor, unit.source, bits)
    made: dict[tuple[Fraction, Rounding], Value] = {}
    for rule, divisor in itertools.chain(*(by.items() for by in divisors)):
        if (divisor, rule.rounding) not in made:
            code = rounded_over(m, ratio, divisor, scale, rule.rounding)
            made[divisor, rule.rounding] = Mux(amax.any(), code, 0)
    return [{rule: made[divisor, rule.rounding] for rule, divisor in by.items()} for by in divisors]


class Largest(Step):
    """Find the largest magnitude among the input numbers of an operation. Infinities and NaN count as larger than any
    finite number.
    """

    name = "largest"

    def __init__(self, unit: Quantiser) -> None:
        self._unit = unit
        i = ports_layout(unit.inputs)
        super().__init__(i, data.StructLayout({"amax": unit.source.bits - 1, **dict(i.members)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        magnitudes = [self.i[x][:-1] for x in self._unit.lane_names("x")]
        m.d.comb += self.o.amax.eq(largest(m, magnitudes))
        forward(m, self.i, self.o, *self.i.shape().members)
        return m


class Scale(Step):
    """Compute the scale of a block, and forward the numbers of the block."""

    name = "scale"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, scaled_layout(unit))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scales = scales_of(m, self._unit, self.i.amax, self.i)
        m.d.comb += [self.o[name].eq(code) for name, code in scales.items()]
        passed = (*self._unit.lane_names("x"), *(name for name in beside_scale(self._unit) if name not in scales))
        forward(m, self.i, self.o, *passed)
        return m


class Spread(Step):
    """Forward each number to its cast, which multiplies the number by 1 / scale, a power of two.

    If the scale is NaN, every cast receives the number zero.
    """

    name = "spread"

    def __init__(self, unit: Quantiser) -> None:
        self._unit = unit
        lanes = {lane_name(place): lane_layout(unit.element) for place in range(unit.width)}
        super().__init__(scaled_layout(unit), data.StructLayout({**lanes, "scale": unit.block.scale.bits}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, i, o = self._unit, self.i, self.o
        scale = unit.block.scale
        special = i.scale == scale.nan_code(False)
        for place, x in enumerate(unit.lane_names("x")):
            lane = o[lane_name(place)]
            m.d.comb += [
                lane.x.eq(Mux(special, 0, i[x])),
                lane.scale.eq(-scale.min_normal_exponent - i.scale),
            ]
        forward(m, i, o, "scale")
        return m


class Elements(Step):
    """Drive the output ports of the elements and the scale."""

    name = "elements"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for place, name in enumerate(self._unit.lane_names("element")):
            m.d.comb += self.o[name].eq(self._code(self.i[lane_name(place)].result))
        forward(m, self.i, self.o, "scale")
        return m

    def _code(self, result: Value) -> Value:
        # Integer elements are converted from sign and magnitude to two's complement.
        if not self._unit.block.element.twos_complement:
            return result
        return Mux(result[-1], -result[:-1], result)
