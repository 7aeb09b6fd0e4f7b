"""The golden model of a unit as a step function that computes one operation at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fp9.units import Unit
from fp9.vectors.sets import VectorSet, from_inputs

Operation = Mapping[str, int]
"""Codes of one operation, by input port."""


class Golden:
    """The golden model of a unit, called once for each operation.

    The golden model stores the state of a unit such as a `mac`. Raises ValueError for units that compute blocks of
    operations.
    """

    def __init__(self, unit: Unit) -> None:
        if unit.group > 1:
            raise ValueError(f"{unit.name} computes blocks of {unit.group} operations; use results_of for whole blocks")
        self.unit = unit
        self._history: list[Operation] = []

    def reset(self) -> None:
        """Put the golden model into the state after a reset."""
        self._history = []

    def step(self, **operands: int) -> dict[str, int]:
        """Return the outputs of the next operation.

        For a unit with state, each call recomputes all operations since the last LOAD, CLEAR or reset, so later calls
        take longer. Raises ValueError for missing or unknown ports, and for values that do not fit a port.
        """
        made = results_of(self.unit, [*self._history, operands])
        self._history.append(operands)
        if made.unit.restarts(made.inputs)[-1]:
            self._history = [operands] if self.unit.has_state else []
        return {port.name: int(made.expected[port.name][-1]) for port in self.unit.outputs}


def results_of(unit: Unit, operations: Sequence[Operation]) -> VectorSet:
    """Return operations with their golden results as a vector set. The first operation follows a reset.

    Raises ValueError for missing or unknown ports.
    """
    names = {name for operation in operations for name in operation}
    ports = {port.name: port for port in unit.inputs}
    lacking = [name for name in ports for operation in operations if name not in operation]
    if lacking or names != {*ports}:
        given = ", ".join(sorted(names)) or "nothing"
        raise ValueError(f"{unit.name}: an operation has {given}; give each of {', '.join(ports)}")
    return from_inputs(unit, {name: np.array([op[name] for op in operations], dtype=np.int64) for name in ports})
