"""A step of a datapath: a combinational component from one layout to the next, between which registers can stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class Step(wiring.Component):
    """Combinational logic from the fields `i` to the fields `o`.

    `levels` estimates the logic depth in two-input gates; registers are placed by it. `name` names the submodule.
    """

    name: str
    levels: int
    i: data.View[data.StructLayout]
    o: data.View[data.StructLayout]

    def __init__(self, i: data.StructLayout, o: data.StructLayout) -> None:
        super().__init__({"i": In(i), "o": Out(o)})


def forward(m: Module, source: data.View[data.StructLayout], sink: data.View[data.StructLayout], *names: str) -> None:
    """Carry fields of the same name from `source` to `sink` unchanged."""
    for name in names:
        m.d.comb += sink[name].eq(source[name])


def chain(m: Module, steps: Sequence[Step], value: data.View[data.StructLayout]) -> data.View[data.StructLayout]:
    """Place steps one behind the other as submodules of `m`; the fields that come out."""
    for step in steps:
        m.submodules[step.name] = step
        m.d.comb += step.i.eq(value)
        value = step.o
    return value


def balanced(steps: Sequence[Step], groups: int) -> list[list[Step]]:
    """Cut a chain into `groups` runs of steps, the deepest as shallow as possible; surplus groups stay empty, last."""
    filled = min(groups, len(steps))
    depth = [0, *accumulate(step.levels for step in steps)]

    def bounds(cuts: Sequence[int]) -> list[tuple[int, int]]:
        edges = [0, *cuts, len(steps)]
        return list(pairwise(edges))

    def deepest(cuts: Sequence[int]) -> list[int]:
        return sorted((depth[end] - depth[start] for start, end in bounds(cuts)), reverse=True)

    best = min(combinations(range(1, len(steps)), filled - 1), key=deepest)
    return [list(steps[start:end]) for start, end in bounds(best)] + [[] for _ in range(groups - filled)]
