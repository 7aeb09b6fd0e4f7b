"""What stands in for Amaranth's simulator gives what that gives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out
from amaranth.sim import Simulator, SimulatorContext
from numpy.typing import NDArray
from tests.rtl.netlist import evaluated
from tests.support.rosters import one_of_each_kind

from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9_rtl import build

Columns = dict[str, NDArray[Any]]


def simulated(component: Any, inputs: Columns, outputs: list[str]) -> Columns:
    """The outputs of a component without registers in Amaranth's simulator, one operation after the other."""
    rows: list[list[int]] = []

    async def bench(ctx: SimulatorContext) -> None:
        for values in zip(*inputs.values(), strict=True):
            for name, value in zip(inputs, values, strict=True):
                ctx.set(Value.cast(getattr(component, name)), int(value))
            await ctx.delay(1e-9)
            rows.append([ctx.get(Value.cast(getattr(component, name)).as_unsigned()) for name in outputs])

    simulator = Simulator(component)
    simulator.add_testbench(bench)
    simulator.run()
    return dict(zip(outputs, np.array(rows, np.uint64).T, strict=True))


def agree(make: Callable[[], Any], inputs: Columns, outputs: list[str]) -> None:
    found, wanted = evaluated(make(), inputs), simulated(make(), inputs, outputs)
    for name in outputs:
        assert np.array_equal(found[name], wanted[name]), name


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", one_of_each_kind(stages=False), ids=lambda unit: unit.name)
def test_a_unit_of_each_kind_gives_the_same_in_both(unit: Unit) -> None:
    inputs = dict(vectors.generate(unit, "random", 20, seed=7).inputs)
    agree(lambda: build(unit), inputs, [port.name for port in unit.outputs])


PAIRS = (operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor)
ORDERS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
WIDTH = 3
RESULTS = ["low", "middle", "high"]


class Operators(Component):
    """Every operator that components use, on numbers of a few bits with and without a sign."""

    def __init__(self) -> None:
        super().__init__({"a": In(WIDTH), "b": In(WIDTH), **{name: Out(64) for name in RESULTS}})

    def elaborate(self, _: Any) -> Module:
        m = Module()
        a, b = self.a, self.b
        numbers = [(a, b), (a.as_signed(), b.as_signed()), (a, b.as_signed())]
        binary = [found(x, y) for x, y in numbers for found in (*PAIRS, *ORDERS)]
        unary = [~a, -a, a.any(), a.all(), a.xor(), a.bool(), a.as_signed() >> b, a >> b, a << b]
        choice, held = Signal(WIDTH), Signal(signed(WIDTH), init=-2)
        with m.Switch(a):
            with m.Case("1--"):
                m.d.comb += choice.eq(b)
            with m.Case(1, 2):
                m.d.comb += choice[1:].eq(b)
        with m.If(a == b):
            m.d.comb += held.eq(b)
        with m.If(b[0]):
            m.d.comb += held[0].eq(a[1])
        picked = [Mux(a[0], b, ~a), Array([a, b, a ^ b, 5])[b], a.bit_select(b, 2), a.word_select(b[:1], 2)]
        every = Cat(*binary, *unary, choice, held, *picked)
        assert len(every) <= 64 * len(RESULTS)
        m.d.comb += Cat(getattr(self, name) for name in RESULTS).eq(every)
        return m


def test_every_operator_gives_the_same_in_both() -> None:
    a, b = (column.ravel() for column in np.meshgrid(np.arange(1 << WIDTH), np.arange(1 << WIDTH)))
    agree(Operators, {"a": a, "b": b}, RESULTS)
