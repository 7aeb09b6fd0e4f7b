"""Groups of operations with wrong results, by the number classes (such as NaN) of their operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fp9.units import Columns, Port
from fp9.vectors.sets import VectorSet
from fp9_compare.diagnosis.classes import limits, numbers, operands_of, results_of

_WORDS = ("zero", "subnormal", "normal", "infinity", "NaN")


@dataclass(frozen=True)
class Cluster:
    """Group of operations with wrong results.

    In all operations of a group, an operand has the same number class, such as zero or NaN. Each expected result also
    has the same number class in all operations of the group.
    """

    says: str
    operations: int
    # Index of the operation whose operands have the fewest bits set to 1.
    simplest: int


def clusters(made: VectorSet, unexplained: Any) -> list[Cluster]:
    """Return groups of the operations that the mask `unexplained` selects, with the largest group first.

    Operations belong to the same group if their operands and expected results have the same number classes.
    """
    chosen = np.flatnonzero(unexplained)
    inputs = {name: np.asarray(column)[chosen] for name, column in made.inputs.items()}
    outputs = [(port, np.asarray(made.expected[port.name])[chosen]) for port in results_of(made.unit)]
    # Descriptions of groups omit operands that have the same value in all vectors.
    operands = [port for port in operands_of(made.unit) if len(np.unique(made.inputs[port.name])) > 1]
    ports = [(port, inputs[port.name]) for port in operands] + outputs
    if not len(chosen) or not ports:
        return []
    table = np.stack([_classes(port, codes, inputs) for port, codes in ports])
    kinds, places = np.unique(table, axis=1, return_inverse=True)
    effort = _effort([inputs[port.name] for port in operands], len(chosen))
    found = []
    for number in range(kinds.shape[1]):
        members = np.flatnonzero(places.ravel() == number)
        names = [port.name for port in operands] + [f"expected {port.name}" for port, _ in outputs]
        says = ", ".join(f"{name} {_WORDS[kind]}" for name, kind in zip(names, kinds[:, number], strict=True))
        found.append(Cluster(says, len(members), int(chosen[members[np.argmin(effort[members])]])))
    return sorted(found, key=lambda cluster: -cluster.operations)


def _classes(port: Port, codes: Any, inputs: Columns) -> Any:
    # 0 for zero, 1 for subnormal, 2 for normal, 3 for infinity, 4 for NaN.
    values = np.abs(numbers(port, codes, inputs))
    smallest, _ = limits(port, inputs)
    return np.select([np.isnan(values), np.isinf(values), values == 0, values < smallest], [4, 3, 0, 1], 2)


def _effort(columns: list[Any], count: int) -> Any:
    bits = sum((np.bitwise_count(column).astype(np.float64) for column in columns), np.zeros(count))
    sizes = sum((column.astype(np.float64) for column in columns), np.zeros(count))
    return bits + sizes / (sizes.max() + 1)
