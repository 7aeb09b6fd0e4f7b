"""Lanes of a multi-format FPU. The first lane processes the whole word, the other lanes only 8-bit codes."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data

from fp9.units import MultiFpu
from fp9.units.multi_fpu import NARROW_BITS
from fp9_rtl.casts.lanes import EachLane, lane_name
from fp9_rtl.fpu.multi import lane_steps
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import any_of, at_most
from fp9_rtl.parts.step import Step, forward

_BESIDE = {"vector": 1}


def multi_steps(unit: MultiFpu) -> list[Step]:
    """Return the stages of a unit with all its lanes."""
    if unit.lanes == 1:
        return lane_steps(unit)
    lanes = _lanes(unit)
    sections = zip(*map(lane_steps, lanes), strict=True)
    return [Deal(unit), *(EachLane(section, _BESIDE) for section in sections), Collect(unit)]


def _lanes(unit: MultiFpu) -> list[MultiFpu]:
    """Return the unit of each lane. Only the first lane accepts every format."""
    return [replace(unit, lanes=1), *(unit.lane_unit for _ in range(unit.lanes - 1))]


class Deal(Step):
    """Distribute the ports to the lanes. If `vector` is 1, each lane gets an 8-bit code and an 8-bit format."""

    name = "deal"

    def __init__(self, unit: MultiFpu) -> None:
        self._unit = unit
        lanes = {lane_name(n): ports_layout(lane.inputs) for n, lane in enumerate(_lanes(unit))}
        super().__init__(ports_layout(unit.inputs), data.StructLayout({**lanes, **_BESIDE}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, i = self._unit, self.i
        choices = {port.name: len(port.choices) for port in unit.lane_unit.inputs}
        random = dict(enumerate(unit.random_ports))
        for number in range(unit.lanes):
            lane = self.o[lane_name(number)]
            for name in lane.shape().members:
                value: Value = i[random[number] if name == "random" else name]
                if name in unit.operands and number:
                    value = value.word_select(number, NARROW_BITS)
                elif name.endswith("_format") or (name == "op" and unit.dot_products):
                    narrow = at_most(value, choices.get(name, 1) - 1)
                    value = narrow if number else Mux(i.vector, narrow, value)
                m.d.comb += lane[name].eq(value)
        forward(m, i, self.o, *_BESIDE)
        return m


class Collect(Step):
    """Output the result and the flags. They come from the first lane, or from all lanes if `vector` is 1."""

    name = "collect"

    def __init__(self, unit: MultiFpu) -> None:
        self._unit = unit
        lanes = {lane_name(n): ports_layout(lane.outputs) for n, lane in enumerate(_lanes(unit))}
        super().__init__(data.StructLayout({**lanes, **_BESIDE}), ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        lanes = [i[lane_name(number)] for number in range(self._unit.lanes)]
        m.d.comb += o.result.eq(Mux(i.vector, Cat(lane.result[:NARROW_BITS] for lane in lanes), lanes[0].result))
        if self._unit.flags:
            m.d.comb += o.flags.eq(Mux(i.vector, any_of(lane.flags for lane in lanes), lanes[0].flags))
        if self._unit.tag:
            m.d.comb += o.result_tag.eq(lanes[0].result_tag)
        return m
