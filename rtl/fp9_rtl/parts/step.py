"""Datapath stages of combinational logic. Pipeline registers can be placed between the stages."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class Step(wiring.Component):
    """A datapath stage: combinational logic from the fields `i` to the fields `o`.

    `name` is the name of the submodule.
    """

    name: str
    i: data.View[data.StructLayout]
    o: data.View[data.StructLayout]

    def __init__(self, i: data.StructLayout, o: data.StructLayout) -> None:
        super().__init__({"i": In(i), "o": Out(o)})


def forward(m: Module, source: data.View[data.StructLayout], sink: data.View[data.StructLayout], *names: str) -> None:
    for name in names:
        m.d.comb += sink[name].eq(source[name])


class Beside(Step):
    """A datapath stage with additional fields that pass through unchanged."""

    def __init__(self, step: Step, beside: dict[str, data.ShapeLike]) -> None:
        self.name = step.name
        self._step, self._beside = step, beside
        layouts = (step.i.shape(), step.o.shape())
        i, o = (data.StructLayout({**{name: f.shape for name, f in s}, **beside}) for s in layouts)
        super().__init__(i, o)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules[self.name] = step = self._step
        m.d.comb += [step.i[name].eq(self.i[name]) for name, _ in step.i.shape()]
        m.d.comb += [self.o[name].eq(step.o[name]) for name, _ in step.o.shape()]
        forward(m, self.i, self.o, *self._beside)
        return m


def chain(m: Module, steps: Sequence[Step], value: data.View[data.StructLayout]) -> data.View[data.StructLayout]:
    for step in steps:
        m.submodules[step.name] = step
        m.d.comb += step.i.eq(value)
        value = step.o
    return value
