"""Passes of the regression test bench: a reset ends each short pass, and the last pass drives all vectors."""

from __future__ import annotations

import itertools
import random
from typing import Any

from fp9.units import Handshake
from fp9_sim.bench.exchange import End, Order, Outcome, Plan, prefix_of
from fp9_sim.bench.handle import UnitHandle
from fp9_sim.bench.pins import Violation
from fp9_sim.bench.scoreboard import Mismatch, answers_of, first_of, mismatches
from fp9_sim.bench.streams import Driver, Monitor, Stream, pauses


def plans(order: Order, rng: random.Random) -> list[Plan]:
    """Return the passes of a regression run. The last pass drives all operations."""
    # Before the reset or flush of a pass, the unit is idle, holds results in all stages, runs at full rate, or has
    # random stalls. One reset lasts two to four clock cycles, and all other resets last one clock cycle.
    prefix = prefix_of(order.vectors)
    cuts = [Plan(prefix, False, "at power-up")]
    if order.stalls and order.vectors.unit.handshake is Handshake.READY:
        cuts += [Plan(prefix, False, "of an idle unit", End.BLOCKED)]
    cuts += [
        Plan(min(prefix, 2 * order.latency + 2), False, "while results waited", End.TAKEN),
        Plan(rng.randint(1, prefix), order.stalls, "at full rate", End.TAKEN, 2 + order.seed % 3),
    ]
    if order.vectors.unit.flush:
        cuts += [Plan(rng.randint(1, prefix), order.stalls, "in a stream with stalls", End.TAKEN, by_flush=True)]
    full = Plan(len(order.vectors), order.stalls, "in a stream with stalls", by_flush=order.vectors.unit.flush)
    return [*cuts, full]


class Pass:
    """A pass of the test bench: a reset or flush, then operations until the end condition of `plan`."""

    def __init__(self, handle: UnitHandle, order: Order, plan: Plan, rng: random.Random) -> None:
        vectors, stalls = order.vectors, plan.stalls
        columns = [vectors.inputs[port.name][: plan.count].tolist() for port in vectors.unit.inputs]
        takes = itertools.repeat(True) if plan.end is End.BLOCKED else pauses(rng, stalls)
        self.handle, self.vectors, self.plan = handle, vectors, plan
        self.driver = Driver(handle, pauses(rng, stalls), zip(*columns, strict=True))
        self.monitor = Monitor(handle, takes)
        skips = pauses(rng, stalls)
        self.stream = Stream(self.driver, self.monitor, skips, order.latency, stalls=stalls, elastic=order.elastic)

    async def run(self) -> None:
        await (self.handle.flush() if self.plan.by_flush else self.handle.reset(self.plan.reset_clocks))
        try:
            await self._stream()
        except Violation as violation:
            clocks = self.plan.reset_clocks
            length = "one clock" if clocks == 1 else f"{clocks} clocks"
            cleared = "a flush" if self.plan.by_flush else f"a reset of {length}"
            raise Violation(f"{violation}; after {cleared} {self.plan.after}") from None

    async def _stream(self) -> None:
        while not self._is_over():
            await self.stream.one_clock()
        for _ in range(2 * self.stream.latency + 2 if self.plan.end is End.DRAINED else 0):
            await self.stream.one_clock()

    def _is_over(self) -> bool:
        match self.plan.end:
            case End.DRAINED:
                return len(self.monitor.results) == self.plan.count
            case End.TAKEN:
                return len(self.driver.accepted) == self.plan.count
            case End.BLOCKED:
                return self.stream.idle > self.stream.latency + 1

    def wrong_result(self) -> Mismatch | None:
        results = self.monitor.results
        found, _ = mismatches(first_of(self.vectors, len(results)), answers_of(self.vectors.unit, results), limit=1)
        return found[0] if found else None


async def stream(dut: Any, order: Order) -> Outcome:
    rng = random.Random(order.seed)
    unit = order.vectors.unit
    handle = UnitHandle(dut, unit)
    await handle.start()
    parts = [Pass(handle, order, plan, rng) for plan in plans(order, rng)]
    done: list[Plan] = []
    for part in parts:
        try:
            await part.run()
        except Violation as violation:
            return Outcome(answers_of(unit, []), 0, (str(violation),), passes=tuple(done), broken=part.plan)
        done.append(part.plan)
    *cuts, full = parts
    for part in cuts if full.wrong_result() is None else ():
        if wrong := part.wrong_result():
            said = f"before a reset in mid-stream, but not after it, {wrong}"
            return Outcome(answers_of(unit, []), 0, (said,), passes=tuple(done), broken=part.plan)
    rows = full.monitor.results
    clocks = sum(part.stream.clock for part in parts)
    return Outcome(answers_of(unit, rows), len(rows), clocks=clocks, passes=tuple(done))
