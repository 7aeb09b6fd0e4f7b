"""Test bench of one unit for your own cocotb tests: driver, monitor and scoreboard."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from cocotb.triggers import Timer

from fp9.units import Unit
from fp9_sim.bench.handle import UnitHandle
from fp9_sim.bench.scoreboard import Scoreboard
from fp9_sim.bench.streams import Driver, Monitor, Operation, Stream, pauses


class Bench:
    """A test bench of one unit. Queue operations with `send`, run them with `run`, and `check` the results.

    `seed` and `stalls` determine when the driver and the monitor pause. `names` maps ports of the specification to
    other names in the DUT. `latency` is the number of clock cycles from operation to result, by default the specified
    latency. If `elastic` is true, a result may come in any clock cycle after its operation. If `latency` is not given,
    a unit with multi-cycle operations, such as iterative division, is elastic. A combinational unit needs no call of
    `start` or `reset`.
    """

    def __init__(
        self,
        dut: Any,
        unit: Unit,
        *,
        seed: int = 0,
        stalls: bool = True,
        names: Mapping[str, str] | None = None,
        latency: int | None = None,
        elastic: bool = False,
    ) -> None:
        rng = random.Random(seed)
        self.handle = UnitHandle(dut, unit, names)
        self.driver = Driver(self.handle, pauses(rng, stalls))
        self.monitor = Monitor(self.handle, pauses(rng, stalls))
        self.scoreboard = Scoreboard(unit)
        if latency is None:
            latency, elastic = unit.latency + unit.extra_clocks, elastic or unit.extra_clocks > 0
        skips = pauses(rng, stalls)
        self.stream = Stream(self.driver, self.monitor, skips, latency, stalls=stalls, elastic=elastic)

    async def start(self) -> None:
        """Start the clock and reset the unit."""
        await self.handle.start()
        await self.handle.reset()

    async def reset(self, clocks: int = 1) -> None:
        """Reset the unit in any state. Operations in the unit are lost, and all others stay in the queue."""
        await self.handle.reset(clocks)
        self.stream.reset()
        self.scoreboard.reset()

    def send(self, **operands: int) -> None:
        """Queue an operation, given as a code for each input port."""
        self.driver.send(**operands)

    async def run(self, clocks: int | None = None) -> None:
        """Run for `clocks` clock cycles, or until every operation has its result.

        Raises Violation if the unit violates its interface.
        """
        if not self.handle.unit.stages:
            return await self._settle()
        while clocks is None and len(self.monitor.results) < len(self.driver.operations):
            await self._one_clock()
        for _ in range(clocks or 0):
            await self._one_clock()
        return None

    async def _one_clock(self) -> None:
        await self.stream.one_clock()
        if self.stream.took:
            self._take(self.driver.operations[len(self.driver.accepted) - 1])
        if self.stream.gave:
            self._give(self.monitor.results[-1])

    async def _settle(self) -> None:
        for operation in self.driver.operations:
            for port, value in zip(self.handle.inputs, operation, strict=True):
                port.value = value
            await Timer(1)
            self._take(operation)
            self._give([str(port.value) for port in self.handle.outputs])
        self.driver.operations.clear()

    def _take(self, operation: Operation) -> None:
        self.scoreboard.take(dict(zip((port.name for port in self.handle.unit.inputs), operation, strict=True)))

    def _give(self, bits: list[str]) -> None:
        self.scoreboard.give(dict(zip((port.name for port in self.handle.unit.outputs), bits, strict=True)))

    def check(self) -> int:
        """Return the number of checked results.

        Raises AssertionError if any result is wrong, or if there are no results.
        """
        return self.scoreboard.check()
