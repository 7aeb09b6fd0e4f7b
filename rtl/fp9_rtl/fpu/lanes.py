"""Lanes of a multi-format FPU.

Scalar operations use only the first lane, and vector operations use all lanes of one width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data

from fp9.units import MultiFpu
from fp9_rtl.casts.lanes import EachLane, lane_name
from fp9_rtl.fpu.additions import AddLanes, AlignLanes, NormaliseLanes
from fp9_rtl.fpu.choices import by_vector
from fp9_rtl.fpu.decode import DecodeMulti
from fp9_rtl.fpu.iterative import Divider
from fp9_rtl.fpu.multi import addition_steps, lane_steps, rounding_steps, sum_steps
from fp9_rtl.fpu.products import MultiplyLanes, SharedFactors
from fp9_rtl.fpu.sum import MultiplyMulti
from fp9_rtl.fpu.word import SharedWord
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import any_of, at_most
from fp9_rtl.parts.step import Step, forward


def multi_steps(unit: MultiFpu) -> list[Step]:
    if not unit.lane_widths:
        return lane_steps(unit)
    lanes = lanes_of(unit)
    decode = EachLane([DecodeMulti(lane) for lane in lanes], _beside(unit))
    return [Deal(unit), decode, *_sums(unit, lanes, decode.o.shape()), Collect(unit)]


def multi_stages(unit: MultiFpu) -> tuple[list[Step], Divider, list[Step]]:
    """Return the stages before the iterative divider, the divider, and the stages after the divider."""
    lanes = lanes_of(unit) if unit.lane_widths else [unit]
    decoders: list[Step] = [DecodeMulti(lane) for lane in lanes]
    if not unit.lane_widths:
        divider = Divider(unit, lanes, decoders[0].o.shape())
        return decoders, divider, sum_steps(unit, divider.o.payload.shape())
    decode = EachLane(decoders, _beside(unit))
    divider = Divider(unit, lanes, decode.o.shape())
    return [Deal(unit), decode], divider, [*_sums(unit, lanes, divider.o.payload.shape()), Collect(unit)]


def _sums(unit: MultiFpu, lanes: Sequence[MultiFpu], i: data.StructLayout) -> list[Step]:
    """Return the steps after the decoders. If possible, the lanes share multiplier, aligner, adder and normaliser."""
    factors = SharedFactors(unit, lanes)
    multiply = MultiplyLanes(unit, lanes, factors, i) if factors.fit else _multipliers(unit, lanes, i)
    word = SharedWord(unit, lanes)
    if not word.fit:
        layouts = (multiply.o.shape()[lane_name(number)].shape for number in range(len(lanes)))
        sections = zip(*map(addition_steps, lanes, layouts), strict=True)
        return [multiply, *(EachLane(section, _beside(unit)) for section in sections)]
    align = AlignLanes(unit, lanes, factors, word, multiply.o.shape())
    add = AddLanes(unit, word, align.o.shape())
    normalise = NormaliseLanes(unit, lanes, word, add.o.shape())
    sections = zip(*map(rounding_steps, lanes, normalise.lanes), strict=True)
    return [multiply, align, add, normalise, *(EachLane(section, _beside(unit)) for section in sections)]


def _multipliers(unit: MultiFpu, lanes: Sequence[MultiFpu], i: data.StructLayout) -> Step:
    own = [MultiplyMulti(lane, i[lane_name(number)].shape) for number, lane in enumerate(lanes)]
    return EachLane(own, _beside(unit))


def lanes_of(unit: MultiFpu) -> list[MultiFpu]:
    # Only the first lane accepts every format.
    whole = replace(unit, lanes=1, half_lanes=False)
    return [whole, *(unit.lane_units[width] for _, width in unit.lane_places[1:])]


def _beside(unit: MultiFpu) -> dict[str, int]:
    return {"vector": len(unit.lane_widths)}


class Deal(Step):
    """Distribute the input ports to the lanes. The port `vector` selects the width of the lanes."""

    name = "deal"

    def __init__(self, unit: MultiFpu) -> None:
        self._unit = unit
        lanes = {lane_name(n): ports_layout(lane.inputs) for n, lane in enumerate(lanes_of(unit))}
        super().__init__(ports_layout(unit.inputs), data.StructLayout({**lanes, **_beside(unit)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, i = self._unit, self.i
        random = dict(enumerate(unit.random_ports))
        for number, (low, width) in enumerate(unit.lane_places):
            lane = self.o[lane_name(number)]
            for name in lane.shape().members:
                value: Value = i[random[number] if name == "random" else name]
                if name in unit.operands and number:
                    value = value.word_select(low // width, width)
                elif name.endswith("_format") or (name == "op" and unit.dot_products):
                    value = self._select(name, value, width)
                m.d.comb += lane[name].eq(value)
        forward(m, i, self.o, "vector")
        return m

    def _select(self, name: str, value: Value, width: int) -> Value:
        # Lanes of the selected width may have fewer choices than the port.
        unit, limited = self._unit, []
        for lane_width in unit.lane_widths:
            choices = {port.name: len(port.choices) for port in unit.lane_units[lane_width].inputs}
            limited.append(at_most(value, choices.get(name, 1) - 1))
        if width == unit.word:
            return by_vector(unit, self.i.vector, value, limited)
        *narrower, own = limited[: unit.lane_widths.index(width) + 1]
        return Mux(self.i.vector == 1, narrower[0], own) if narrower else own


class Collect(Step):
    """Output result and flags of the selected lanes: the first lane alone, or all lanes of one width."""

    name = "collect"

    def __init__(self, unit: MultiFpu) -> None:
        self._unit = unit
        lanes = {lane_name(n): ports_layout(lane.outputs) for n, lane in enumerate(lanes_of(unit))}
        super().__init__(data.StructLayout({**lanes, **_beside(unit)}), ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, unit = self.i, self.o, self._unit
        lanes = {low: i[lane_name(number)] for number, (low, _) in enumerate(unit.lane_places)}
        used = {width: [lane for low, lane in lanes.items() if low % width == 0] for width in unit.lane_widths}
        results = [Cat(lane.result[:width] for lane in some) for width, some in used.items()]
        m.d.comb += o.result.eq(by_vector(unit, i.vector, lanes[0].result, results))
        if unit.flags:
            flags = [any_of(lane.flags for lane in some) for some in used.values()]
            m.d.comb += o.flags.eq(by_vector(unit, i.vector, lanes[0].flags, flags))
        if unit.tag:
            m.d.comb += o.result_tag.eq(lanes[0].result_tag)
        return m
