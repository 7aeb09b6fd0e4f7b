"""Simplify a failing test case: remove operations, set ports to zero, and clear bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fp9.suites.columns import every_value
from fp9.units import Port, Unit
from fp9.vectors.sets import port_dtype
from fp9_sim.batch.unit import Verilated, check

Operation = dict[str, int]


def failing(dut: Verilated, operations: Sequence[Operation]) -> bool:
    """Run operations after a reset, and return whether the last operation's result differs from the golden model."""
    found, _ = check(dut.unit, columns(dut.unit, operations), dut=dut, limit=len(operations))
    return bool(found) and found[-1].index == len(operations) - 1


def columns(unit: Unit, operations: Sequence[Operation]) -> dict[str, np.ndarray]:
    return {p.name: np.array([o[p.name] for o in operations], dtype=port_dtype(p)) for p in unit.inputs}


def shrink(dut: Verilated, operations: Sequence[Operation]) -> list[Operation]:
    """Return a simpler sequence of operations that still fails in its last operation when simulated from reset."""

    def fails(candidate: Sequence[Operation]) -> bool:
        return failing(dut, candidate)

    left = _shorter(list(operations), fails)
    while (simpler := next((c for c in _simpler(dut.unit, left) if fails(c)), None)) is not None:
        left = simpler
    return left


def _shorter(operations: list[Operation], fails: Callable[[Sequence[Operation]], bool]) -> list[Operation]:
    length = 1
    while length < len(operations) and not fails(operations[-length:]):
        length *= 2
    left = operations[-length:]
    step = len(left) // 2
    while step:
        for start in range(0, len(left) - step, step):
            without = left[:start] + left[start + step :]
            if fails(without):
                left = without
                break
        else:
            step //= 2
    return left


def _simpler(unit: Unit, operations: list[Operation]) -> Iterator[list[Operation]]:
    for bold in (True, False):
        for index, operation in enumerate(operations):
            for port in unit.inputs:
                for value in _values(port, operation[port.name], bold):
                    yield [*operations[:index], {**operation, port.name: value}, *operations[index + 1 :]]


def _values(port: Port, value: int, bold: bool) -> list[int]:
    if bold:
        return [0] if value else []
    fewer = [value & ~(1 << bit) for bit in reversed(range(port.width)) if value >> bit & 1]
    allowed = every_value(port) if port.name.endswith("_bias") else range(1 << port.width)
    return [candidate for candidate in fewer if candidate and candidate in allowed]
