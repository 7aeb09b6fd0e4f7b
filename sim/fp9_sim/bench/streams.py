"""Driver, monitor and clock loop that operate pipelined units through valid/ready streams with stalls.

Inputs are driven at the falling clock edge. All signals are read after they have settled, before the rising edge, so
every simulator reads the same values.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from cocotb.triggers import ReadOnly

from fp9_sim.bench.handle import UnitHandle
from fp9_sim.bench.pins import Violation, bit

# Clock cycles without operation or result after which a unit counts as stuck.
PATIENCE = 500

Operation = tuple[int, ...]
"""Codes of one operation, in the order of the unit's inputs."""


def pauses(rng: random.Random, stalls: bool = True) -> Iterator[bool]:
    """Yield one Boolean for each clock cycle: True if a driver or monitor pauses, and False otherwise.

    If `stalls` is true, the probability of a pause changes after random numbers of clock cycles.
    """
    while not stalls:
        yield False
    while True:
        density = rng.choice((0.0, 0.1, 0.5, 0.9))
        for _ in range(rng.randrange(1, 40)):
            yield rng.random() < density


class Driver:
    """Driver of a unit's inputs, which offers each operation until the unit takes it.

    In every clock cycle without an offered operation, the next value of `pauses` decides whether the driver pauses.
    """

    def __init__(self, handle: UnitHandle, pauses: Iterator[bool], operations: Iterable[Operation] = ()) -> None:
        self.handle = handle
        self.valid, self.ready = handle.control("in_valid"), handle.control("in_ready")
        self.operations = list(operations)
        self.pauses = pauses
        self.offers = False
        self.accepted: list[int] = []
        """Clock cycle at which each operation was taken."""

    def send(self, **operands: int) -> None:
        """Append an operation, given as a code for each input port."""
        self.operations.append(tuple(operands[port.name] for port in self.handle.unit.inputs))

    def drive(self) -> None:
        """Offer the next operation to the unit, or pause for a clock cycle."""
        if not self.offers and len(self.accepted) < len(self.operations) and not next(self.pauses):
            self.offers = True
            for port, value in zip(self.handle.inputs, self.operations[len(self.accepted)], strict=True):
                port.value = value
        self.valid.value = self.offers

    def sample(self, clock: int) -> bool:
        """Return whether the unit takes the offered operation in the current clock cycle."""
        takes = self.offers and (self.ready is None or bit(self.ready))
        if takes:
            self.accepted.append(clock)
            self.offers = False
        return takes

    def reset(self) -> None:
        """Discard the operations that the unit has taken."""
        self.operations, self.accepted, self.offers = self.operations[len(self.accepted) :], [], False


class Monitor:
    """Monitor of a unit's outputs, which checks that a waiting result does not change.

    In every clock cycle, the next value of `pauses` decides whether the monitor applies back-pressure.
    """

    def __init__(self, handle: UnitHandle, pauses: Iterator[bool]) -> None:
        self.handle = handle
        self.valid, self.ready = handle.control("out_valid"), handle.control("out_ready")
        self.pauses = pauses
        self.takes = False
        self.waiting: list[str] | None = None
        self.results: list[list[str]] = []
        """Bits of each output of each result, most significant bit first."""
        self.clocks: list[int] = []
        """Clock cycle at which each result was taken."""

    def drive(self) -> None:
        """Set `out_ready` for a clock cycle."""
        if self.ready is None:
            self.takes = True
            return
        self.takes = not next(self.pauses)
        self.ready.value = self.takes

    def sample(self, clock: int, counts: bool = True) -> bool:
        """Return whether the monitor takes a result in the current clock cycle, and record the result.

        If `counts` is false, the monitor checks a waiting result without taking it. Raises Violation if a waiting
        result changed or was withdrawn.
        """
        result = [str(port.value) for port in self.handle.outputs] if bit(self.valid) else None
        if self.waiting is not None and result != self.waiting:
            what = "changed" if result else "was withdrawn"
            raise Violation(f"result {len(self.results)} {what} at clock {clock}, before it was taken")
        takes = self.takes and counts
        self.waiting = None if takes else result
        if result and takes:
            self.results.append(result)
            self.clocks.append(clock)
        return bool(result and takes)

    def reset(self) -> None:
        """Discard all recorded results."""
        self.waiting, self.results, self.clocks = None, [], []


class Stream:
    """Run driver and monitor of one unit clock by clock, and check the time and order of the results.

    Without stalls, the unit must take one operation in each clock cycle, and give its result `latency` clock cycles
    later. With stalls and back-pressure, a result may come more than `latency` clock cycles after its operation. An
    `elastic` unit may give a result in any clock cycle after its operation.
    """

    def __init__(
        self,
        driver: Driver,
        monitor: Monitor,
        skips: Iterator[bool],
        latency: int,
        *,
        stalls: bool,
        elastic: bool = False,
    ) -> None:
        self.handle, self.driver, self.monitor, self.skips = driver.handle, driver, monitor, skips
        self.latency, self.stalls, self.elastic = latency, stalls, elastic
        self.may_wait = stalls and monitor.ready is not None
        self.enable = self.handle.control("enable")
        self.clock = self.moved = 0
        self.took = self.gave = False

    @property
    def idle(self) -> int:
        """Return the number of clock cycles since the unit last took an operation or gave a result."""
        return self.clock - self.moved

    async def one_clock(self) -> None:
        """Run one clock cycle.

        Raises Violation if the unit violates its interface, or is idle for more than `PATIENCE` clock cycles.
        """
        self.driver.drive()
        self.monitor.drive()
        counts = self.enable is None or not next(self.skips)
        if self.enable is not None:
            self.enable.value = counts
        await ReadOnly()
        self.took = counts and self.driver.sample(self.clock)
        self.gave = self.monitor.sample(self.clock, counts)
        if counts:
            self._check_time()
            self.clock += 1
        if self.took or self.gave:
            self.moved = self.clock
        await self.handle.clock()
        if self.idle > PATIENCE:
            done, taken = len(self.monitor.results), len(self.driver.accepted)
            raise Violation(f"stuck at clock {self.clock}: {taken} operations taken, {done} results given")

    def _check_time(self) -> None:
        if not self.gave:
            return
        index = len(self.monitor.results) - 1
        if index >= len(self.driver.accepted):
            raise Violation(f"result {index} at clock {self.clock} belongs to no operation")
        if self.elastic:
            return
        taken = self.clock - self.driver.accepted[index]
        if taken < self.latency or (taken > self.latency and not self.may_wait):
            raise Violation(f"result {index} comes {taken} clocks after its operation; the unit takes {self.latency}")
        if not self.stalls and self.driver.accepted[index] != self.driver.accepted[0] + index:
            raise Violation(f"operation {index} was not taken at once; the unit takes one a clock")

    def reset(self) -> None:
        """Begin a new sequence of operations after a reset."""
        self.driver.reset()
        self.monitor.reset()
        self.clock = self.moved = 0
