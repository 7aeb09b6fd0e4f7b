"""The `quantiser`'s datapath: the block's largest magnitude, its scale, and a cast of every number over the scale.

Where a block comes in several operations, `block` stands between the first two and the casts.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from fp9.units import Quantiser
from fp9_rtl.casts.lanes import EachLane, lane_layout, lane_name, largest
from fp9_rtl.casts.steps import lane_steps
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.quantisers.scale import scale_code


def quantiser_steps(unit: Quantiser) -> list[Step]:
    """The whole datapath of a block that comes at once."""
    amax = Largest(unit)
    return [amax, Scale(unit, amax.o.shape()), *element_steps(unit)]


def element_steps(unit: Quantiser) -> list[Step]:
    """From the numbers of an operation and their scale to its results, the casts side by side."""
    beside = {"scale": unit.block.scale.bits}
    sections = zip(*(lane_steps(unit.element) for _ in range(unit.width)), strict=True)
    casts = [EachLane(section, beside) for section in sections]
    return [Spread(unit), *casts, Elements(unit, casts[-1].o.shape())]


def scaled_layout(unit: Quantiser) -> data.StructLayout:
    """The numbers of an operation beside the code of their scale."""
    numbers = dict.fromkeys(unit.lane_names("x"), unit.source.bits)
    return data.StructLayout({**numbers, "scale": unit.block.scale.bits})


def scale_of(m: Module, unit: Quantiser, amax: Value, operation: data.View[data.StructLayout]) -> Value:
    """The code of the scale by the operation's rule; NaN where amax is infinite or NaN."""
    scale = unit.block.scale
    codes = {rule: scale_code(m, amax, unit.source, unit.block, rule) for rule in unit.rules}
    chosen = Signal(signed(max(map(len, codes.values()))))
    select = operation.rule if len(unit.rules) > 1 else Const(0, 0)
    for rule in switch(m, select, unit.rules):
        m.d.comb += chosen.eq(codes[rule])
    code = Mux(chosen < 0, 0, chosen[: scale.bits])
    return Mux(amax > unit.source.max_code, scale.nan_code(False), code)


class Largest(Step):
    """The largest magnitude of an operation; infinities and NaN are larger than numbers."""

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
    """The scale of a block beside its numbers."""

    name = "scale"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, scaled_layout(unit))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.scale.eq(scale_of(m, self._unit, self.i.amax, self.i))
        forward(m, self.i, self.o, *self._unit.lane_names("x"))
        return m


class Spread(Step):
    """Every number beside what multiplies it, one over the scale; zeros where that is NaN."""

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
    """The elements under the names of the ports, and the scale."""

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
        """An element's code; of an integer, which the cast gives as sign and magnitude, the two's complement."""
        if not self._unit.block.element.twos_complement:
            return result
        return Mux(result[-1], -result[:-1], result)
