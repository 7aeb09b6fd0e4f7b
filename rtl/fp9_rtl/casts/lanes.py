"""Place several cast lanes side by side, with a running maximum (amax) of the operands."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.units import Cast
from fp9_rtl.parts.layouts import flags_layout, ports_layout
from fp9_rtl.parts.step import Step, chain, forward
from fp9_rtl.pipelines.elastic import ElasticStage


def lane_layout(unit: Cast) -> data.StructLayout:
    return ports_layout(dataclasses.replace(unit, lanes=1, amax=False).inputs)


def lane_name(number: int) -> str:
    return f"lane{number}"


def beside_lanes(unit: Cast) -> dict[str, int]:
    return {"largest": unit.source.bits - 1, "amax_clear": 1} if unit.amax else {}


class Spread(Step):
    """Distribute the input ports to the lanes, and find the largest finite magnitude among the operands."""

    name = "spread"

    def __init__(self, unit: Cast) -> None:
        self._unit = unit
        lanes = {lane_name(number): lane_layout(unit) for number in range(unit.lanes)}
        super().__init__(ports_layout(unit.inputs), data.StructLayout({**lanes, **beside_lanes(unit)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, i, o = self._unit, self.i, self.o
        ports = i.shape().members
        for number in range(unit.lanes):
            lane = o[lane_name(number)]
            for name in lane.shape().members:
                m.d.comb += lane[name].eq(i[name if name in ports else f"{name}{number}"])
        if unit.amax:
            magnitudes = [self._finite_magnitude(i[name]) for name in unit.lane_names("x")]
            m.d.comb += o.largest.eq(largest(m, magnitudes))
            forward(m, i, o, "amax_clear")
        return m

    def _finite_magnitude(self, code: Value) -> Value:
        source, magnitude = self._unit.source, code[:-1]
        if source.max_code == source.magnitude_mask:
            return magnitude
        return Mux(magnitude > source.max_code, 0, magnitude)


def largest(m: Module, values: Sequence[Value]) -> Value:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return _larger(m, largest(m, values[:half]), largest(m, values[half:]))


def _larger(m: Module, a: Value, b: Value) -> Value:
    larger = Signal(max(len(a), len(b)), name="larger")
    m.d.comb += larger.eq(Mux(a > b, a, b))
    return larger


class EachLane(Step):
    """One datapath stage, instantiated once for each lane. The fields in `beside` pass through unchanged."""

    def __init__(self, lanes: Sequence[Step], beside: Mapping[str, int]) -> None:
        self.name = lanes[0].name
        self._lanes = lanes
        self._beside = tuple(beside)
        i, o = (
            data.StructLayout({**{lane_name(n): side.shape() for n, side in enumerate(sides)}, **beside})
            for sides in ([step.i for step in lanes], [step.o for step in lanes])
        )
        super().__init__(i, o)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, step in enumerate(self._lanes):
            name = lane_name(number)
            m.submodules[name] = step
            m.d.comb += [step.i.eq(self.i[name]), self.o[name].eq(step.o)]
        forward(m, self.i, self.o, *self._beside)
        return m


class Join(Step):
    """Connect the results and flags of all lanes to the result ports."""

    name = "join"

    def __init__(self, unit: Cast) -> None:
        self._unit = unit
        lane = data.StructLayout({"result": unit.outputs[0].width, "flags": flags_layout()})
        i = {lane_name(number): lane for number in range(unit.lanes)}
        o = {
            port: shape
            for ports in zip(unit.lane_names("result"), unit.lane_names("flags"), strict=True)
            for port, shape in zip(ports, lane.members.values(), strict=True)
        }
        super().__init__(
            data.StructLayout({**i, **beside_lanes(unit)}),
            data.StructLayout({**o, **beside_lanes(unit)}),
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number in range(self._unit.lanes):
            lane = self.i[lane_name(number)]
            for name in ("result", "flags"):
                m.d.comb += self.o[self._unit.lane_names(name)[number]].eq(lane[name])
        forward(m, self.i, self.o, *beside_lanes(self._unit))
        return m


class RunningAmax(ElasticStage):
    """Last register stage of a cast unit with a running maximum (`amax`).

    The output `amax` is the largest operand magnitude since the last clear. When the unit outputs results, the output
    `amax` already includes the operands of these results. The stored maximum changes only when the stage accepts an
    operation. A reset clears the maximum.
    """

    def __init__(self, unit: Cast, steps: Sequence[Step], i: data.StructLayout) -> None:
        self._steps = steps
        results = (steps[-1].o.shape() if steps else i).members
        kept = {name: shape for name, shape in results.items() if name not in beside_lanes(unit)}
        super().__init__(i, data.StructLayout({**kept, "amax": unit.source.bits - 1}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation = chain(m, self._steps, self.i.payload)
        shape = self.o.payload.shape()
        held = Signal(shape)
        amax = Signal(shape["amax"].shape)
        with m.If(~operation.amax_clear):
            m.d.comb += amax.eq(held.amax)
        self.give(m, held)
        with self.taken(m):
            for name in shape.members:
                if name != "amax":
                    m.d.sync += held[name].eq(operation[name])
            m.d.sync += held.amax.eq(_larger(m, operation.largest, amax))
        return m
