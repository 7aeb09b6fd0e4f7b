"""Units without a line of Verilog between the component and the result: Amaranth's netlist, for all operations at once,
of those without registers, Amaranth's own simulator for the others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Value
from amaranth.sim import Simulator, SimulatorContext
from numpy.typing import NDArray
from tests.rtl.netlist import evaluated

from fp9.units import Unit
from fp9_rtl import build

Columns = dict[str, NDArray[Any]]
Simulate = Callable[..., Columns]


def _results(unit: Unit, rows: list[dict[str, int]]) -> Columns:
    return {port.name: np.array([row[port.name] for row in rows], dtype=np.uint32) for port in unit.outputs}


def _operations(inputs: Columns) -> Iterator[dict[str, int]]:
    for values in zip(*inputs.values(), strict=True):
        yield {name: int(value) for name, value in zip(inputs, values, strict=True)}


@pytest.fixture
def simulate() -> Simulate:
    """`simulate(unit, inputs, stalls=0.0, seed=0)`: the outputs of every operation, of shape (n,) for each port.

    `stalls` is the share of clocks in which a side of the handshake is not ready.
    """

    def run(unit: Unit, inputs: Columns, stalls: float = 0.0, seed: int = 0) -> Columns:
        if not unit.stages:
            return {name: column.astype(np.uint32) for name, column in evaluated(build(unit), inputs).items()}
        return _results(unit, _clocked(unit, inputs, stalls, random.Random(seed)))

    return run


def _set(ctx: SimulatorContext, component: Any, values: dict[str, int]) -> None:
    """All ports at once: the simulator settles after each call of `set`."""
    ports, together, place = [Value.cast(getattr(component, name)) for name in values], 0, 0
    for port, value in zip(ports, values.values(), strict=True):
        together |= value % (1 << len(port)) << place
        place += len(port)
    ctx.set(Cat(*ports), together)


def _read(ctx: SimulatorContext, component: Any, unit: Unit) -> dict[str, int]:
    return {port.name: ctx.get(getattr(component, port.name)) % (1 << port.width) for port in unit.outputs}


def _clocked(unit: Unit, inputs: Columns, stalls: float, rng: random.Random) -> list[dict[str, int]]:
    component: Any = build(unit)
    waiting = list(_operations(inputs))
    count = len(waiting)
    rows: list[dict[str, int]] = []

    async def bench(ctx: SimulatorContext) -> None:
        offered = False  # what is offered stays until it is taken
        while len(rows) < count:
            offered = bool(waiting) and (offered or rng.random() >= stalls)
            operation = waiting[0] if offered else {}
            _set(ctx, component, operation | {"in_valid": offered, "out_ready": rng.random() >= stalls})
            if ctx.get(component.out_valid & component.out_ready):
                rows.append(_read(ctx, component, unit))
            if ctx.get(component.in_valid & component.in_ready):
                waiting.pop(0)
                offered = False
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return rows
