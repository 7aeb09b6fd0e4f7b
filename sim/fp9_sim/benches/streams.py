"""Driver, monitor and scoreboard for units with stages: valid/ready streams with stalls and resets.

All signals are driven at the falling edge of the clock and read after they have settled. In every simulator, the
values read are therefore the values at the next rising edge.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from fp9.units import Handshake, Unit
from fp9.vectors.sets import VectorSet
from fp9_sim.benches.exchange import Order, Outcome, answers_of, prefix_of
from fp9_sim.benches.pins import Violation, bit, pin, pins
from fp9_sim.benches.scoreboard import Mismatch, mismatches

PATIENCE = 500
"""Number of idle clocks after which a unit counts as stuck. In an idle clock no operation enters and no result
leaves.
"""

Operation = tuple[int, ...]


def pauses(rng: random.Random, stalls: bool) -> Iterator[bool]:
    """Yield for each clock whether to pause.

    With `stalls`, phases of random length and density follow each other, from no pauses to almost only pauses.
    """
    while not stalls:
        yield False
    while True:
        density = rng.choice((0.0, 0.1, 0.5, 0.9))
        for _ in range(rng.randrange(1, 40)):
            yield rng.random() < density


class Driver:
    """Driver of the unit's inputs. The driver offers an operation until the unit takes it."""

    def __init__(self, dut: Any, vectors: VectorSet, operations: Sequence[Operation], pauses: Iterator[bool]) -> None:
        self.valid, self.ready = pin(dut, "in_valid"), _ready(dut, vectors.unit, "in_ready")
        self.ports = pins(dut, vectors.unit.inputs)
        self.operations = operations
        self.pauses = pauses
        self.offers = False
        self.accepted: list[int] = []
        """Clock at which each operation was taken."""

    def drive(self) -> None:
        """Offer the next operation, or pause for a clock."""
        if not self.offers and len(self.accepted) < len(self.operations) and not next(self.pauses):
            self.offers = True
            for port, value in zip(self.ports, self.operations[len(self.accepted)], strict=True):
                port.value = value
        self.valid.value = self.offers

    def sample(self, clock: int) -> None:
        """Record whether the unit takes the operation in this clock."""
        if (self.ready is None or bit(self.ready)) and self.offers:
            self.accepted.append(clock)
            self.offers = False


class Monitor:
    """Monitor of the unit's outputs. The monitor checks that a waiting result stays unchanged until it is taken."""

    def __init__(self, dut: Any, vectors: VectorSet, pauses: Iterator[bool]) -> None:
        self.valid, self.ready = pin(dut, "out_valid"), _ready(dut, vectors.unit, "out_ready")
        self.ports = pins(dut, vectors.unit.outputs)
        self.pauses = pauses
        self.takes = False
        self.waiting: list[str] | None = None
        self.results: list[list[str]] = []
        self.clocks: list[int] = []
        """Clock at which each result was taken."""

    def drive(self) -> None:
        """Be ready for a result, or pause for a clock. For a unit without back-pressure, the monitor never pauses."""
        if self.ready is None:
            self.takes = True
            return
        self.takes = not next(self.pauses)
        self.ready.value = self.takes

    def sample(self, clock: int, counts: bool = True) -> None:
        """Record the result of this clock. Without `counts`, no result is taken."""
        result = [str(port.value) for port in self.ports] if bit(self.valid) else None
        if self.waiting is not None and result != self.waiting:
            what = "changed" if result else "was withdrawn"
            raise Violation(f"result {len(self.results)} {what} at clock {clock}, before it was taken")
        takes = self.takes and counts
        self.waiting = None if takes else result
        if result and takes:
            self.results.append(result)
            self.clocks.append(clock)


def _ready(dut: Any, unit: Unit, name: str) -> Any:
    return pin(dut, name) if unit.handshake is Handshake.READY else None


class End(Enum):
    """The condition that ends a pass of the test bench."""

    DRAINED = "drained"
    """Every result has come, and the unit gives no further result."""
    TAKEN = "taken"
    """The unit has taken every operation. Results are still in the pipeline."""
    BLOCKED = "blocked"
    """The monitor takes no result, and every stage is full."""


@dataclass(frozen=True)
class Plan:
    """One pass from reset: the first `count` operations, with or without stalls.

    `after` describes for messages what the unit was doing at the reset.
    """

    count: int
    stalls: bool
    after: str
    end: End = End.DRAINED
    reset_clocks: int = 1


def plans(order: Order, rng: random.Random) -> list[Plan]:
    """Return the passes of a run. Each pass begins with a reset, and the last pass has all operations.

    Resets interrupt the earlier passes: with waiting results in every stage, at full rate, and after random
    stalls. One reset lasts two to four clocks, which the seed determines. All other resets last one clock.
    """
    prefix = prefix_of(order.vectors)
    cuts = [Plan(prefix, False, "at power-up")]
    if order.stalls and order.vectors.unit.handshake is Handshake.READY:
        cuts += [Plan(prefix, False, "of an idle unit", End.BLOCKED)]
    cuts += [
        Plan(min(prefix, 2 * order.latency + 2), False, "while results waited", End.TAKEN),
        Plan(rng.randint(1, prefix), order.stalls, "at full rate", End.TAKEN, 2 + order.seed % 3),
    ]
    return [*cuts, Plan(len(order.vectors), order.stalls, "in a stream with stalls")]


class Pass:
    """One pass of the test bench, as its plan describes."""

    def __init__(self, dut: Any, order: Order, plan: Plan, rng: random.Random) -> None:
        vectors, stalls = order.vectors, plan.stalls
        columns = [vectors.inputs[port.name][: plan.count].tolist() for port in vectors.unit.inputs]
        takes = itertools.repeat(True) if plan.end is End.BLOCKED else pauses(rng, stalls)
        self.dut, self.vectors, self.plan = dut, vectors, plan
        self.latency, self.elastic = order.latency, order.elastic
        self.driver = Driver(dut, vectors, list(zip(*columns, strict=True)), pauses(rng, stalls))
        self.monitor = Monitor(dut, vectors, takes)
        self.clock = 0
        self.enable = pin(dut, "enable") if vectors.unit.enable else None
        self.skips = pauses(rng, stalls)
        self.may_wait = stalls and vectors.unit.handshake is Handshake.READY

    async def reset(self) -> None:
        """Reset the unit for the plan's number of clocks, in any state and with any value of enable."""
        reset = self.vectors.unit.reset
        handle = pin(self.dut, reset.port)
        handle.value = reset.active
        self.dut.in_valid.value = 0
        if self.enable is not None:
            self.enable.value = 0
        for _ in range(self.plan.reset_clocks):
            await FallingEdge(self.dut.clk)
        handle.value = 1 - reset.active

    async def run(self) -> None:
        """Run from reset to the end of the plan. Raises Violation; the message names the reset."""
        await self.reset()
        try:
            await self._stream()
        except Violation as violation:
            clocks = self.plan.reset_clocks
            length = "one clock" if clocks == 1 else f"{clocks} clocks"
            raise Violation(f"{violation}; after a reset of {length} {self.plan.after}") from None

    async def _stream(self) -> None:
        moved = 0
        while not self._is_over(self.clock - moved):
            before = len(self.driver.accepted) + len(self.monitor.results)
            await self._one_clock()
            moved = self.clock if len(self.driver.accepted) + len(self.monitor.results) > before else moved
            if self.clock - moved > PATIENCE:
                done, taken = len(self.monitor.results), len(self.driver.accepted)
                raise Violation(f"stuck at clock {self.clock}: {taken} operations taken, {done} results given")
        for _ in range(2 * self.latency + 2 if self.plan.end is End.DRAINED else 0):
            await self._one_clock()

    def _is_over(self, idle: int) -> bool:
        """Return whether the pass has ended. `idle` is the number of clocks since the last operation or result."""
        match self.plan.end:
            case End.DRAINED:
                return len(self.monitor.results) == self.plan.count
            case End.TAKEN:
                return len(self.driver.accepted) == self.plan.count
            case End.BLOCKED:
                return idle > self.latency + 1

    async def _one_clock(self) -> None:
        self.driver.drive()
        self.monitor.drive()
        counts = self.enable is None or not next(self.skips)
        if self.enable is not None:
            self.enable.value = counts
        await ReadOnly()
        if counts:
            self.driver.sample(self.clock)
        self.monitor.sample(self.clock, counts)
        if counts:
            self._check_time()
            self.clock += 1
        await FallingEdge(self.dut.clk)

    def _check_time(self) -> None:
        """Check that this clock's result comes `latency` clocks after its operation, or later if there are stalls.

        An elastic unit may give a result in any later clock. Clocks without enable do not count.
        """
        index = len(self.monitor.results) - 1
        if index < 0 or self.monitor.clocks[index] != self.clock:
            return
        if index >= len(self.driver.accepted):
            raise Violation(f"result {index} at clock {self.clock} belongs to no operation")
        if self.elastic:
            return
        taken = self.clock - self.driver.accepted[index]
        if taken < self.latency or (taken > self.latency and not self.may_wait):
            raise Violation(f"result {index} comes {taken} clocks after its operation; the unit takes {self.latency}")
        if not self.plan.stalls and self.driver.accepted[index] != self.driver.accepted[0] + index:
            raise Violation(f"operation {index} was not taken at once; the unit takes one a clock")

    def wrong_result(self) -> Mismatch | None:
        """Return the first wrong result, or None."""
        results = self.monitor.results
        found, _ = mismatches(_first(self.vectors, len(results)), answers_of(self.vectors.unit, results), limit=1)
        return found[0] if found else None


def _first(vectors: VectorSet, count: int) -> VectorSet:
    inputs, expected, care = (
        {name: column[:count] for name, column in part.items()}
        for part in (vectors.inputs, vectors.expected, vectors.care)
    )
    return VectorSet(vectors.unit, inputs, expected, care, {})


async def stream(dut: Any, order: Order) -> Outcome:
    """Run all passes of the order and return the results of the last pass. Raises Violation if any pass fails."""
    rng = random.Random(order.seed)
    unit = order.vectors.unit
    for handle in pins(dut, (*unit.control_inputs[1:], *unit.inputs)):
        handle.value = 0
    Clock(dut.clk, 2, unit="step").start(start_high=False)
    await FallingEdge(dut.clk)
    *cuts, full = [Pass(dut, order, plan, rng) for plan in plans(order, rng)]
    for part in (*cuts, full):
        await part.run()
    if full.wrong_result() is None:
        for part in cuts:
            if wrong := part.wrong_result():
                raise Violation(f"before a reset in mid-stream, unlike later, {wrong}")
    rows = full.monitor.results
    return Outcome(answers_of(unit, rows), len(rows), clocks=full.clock + sum(part.clock for part in cuts))
