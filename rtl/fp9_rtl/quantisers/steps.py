"""The `quantiser`'s datapath: the block's largest magnitude, its scale, and a cast of every number over the scale."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data

from fp9.units import Quantiser
from fp9_rtl.casts.lanes import EachLane, lane_layout, lane_name, largest
from fp9_rtl.casts.steps import lane_steps
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.quantisers.scale import scale_code


def quantiser_steps(unit: Quantiser) -> list[Step]:
    """The whole datapath, the casts of all numbers side by side."""
    length, beside = unit.block.length, {"scale": unit.block.scale.bits}
    sections = zip(*(lane_steps(unit.element) for _ in range(length)), strict=True)
    casts = [EachLane(section, beside) for section in sections]
    amax = Largest(unit)
    return [amax, Scale(unit, amax.o.shape()), *casts, Elements(unit, casts[-1].o.shape())]


class Largest(Step):
    """The largest magnitude of the block; infinities and NaN are larger than numbers."""

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
    """The scale by the chosen rule, NaN where amax is infinite or NaN; every number beside what multiplies it."""

    name = "scale"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        lane = lane_layout(unit.element)
        lanes = {lane_name(place): lane for place in range(unit.block.length)}
        super().__init__(i, data.StructLayout({**lanes, "scale": unit.block.scale.bits}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, i, o = self._unit, self.i, self.o
        source, scale = unit.source, unit.block.scale
        code, special = Signal(scale.bits), Signal()
        for rule in switch(m, i.rule if len(unit.rules) > 1 else Const(0, 0), unit.rules):
            m.d.comb += code.eq(scale_code(m, i.amax, source, unit.block, rule))
        m.d.comb += [
            special.eq(i.amax > source.max_code),
            o.scale.eq(Mux(special, scale.nan_code(False), code)),
        ]
        for place, x in enumerate(unit.lane_names("x")):
            lane = o[lane_name(place)]
            m.d.comb += [
                lane.x.eq(Mux(special, 0, i[x])),
                lane.scale.eq(-scale.min_normal_exponent - code),
            ]
        return m


class Elements(Step):
    """The elements under the names of the ports, and the scale."""

    name = "elements"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for place, name in enumerate(self._unit.lane_names("element")):
            m.d.comb += self.o[name].eq(self.i[lane_name(place)].result)
        forward(m, self.i, self.o, "scale")
        return m
