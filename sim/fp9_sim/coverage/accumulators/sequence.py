"""Cover points for pairs of consecutive accumulator operations."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Columns, Mac, MacOp
from fp9_sim.coverage.model import Bin, Cross


class Sequence:
    """Cover points for an accumulator operation and for the operation before it."""

    def __init__(self, unit: Mac) -> None:
        self._operations = unit.operations

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        names = tuple(op.name.lower() for op in self._operations)
        return {"operation": names, "previous": names}

    @property
    def crosses(self) -> tuple[Cross, ...]:
        return (Cross("sequence", ("previous", "operation")),)

    def read(self, inputs: Columns) -> Iterator[tuple[MacOp, dict[str, Bin]]]:
        # A code above the code of the last operation selects the last operation.
        previous: dict[str, Bin] = {}
        for number in inputs["op"].tolist():
            op = self._operations[min(number, len(self._operations) - 1)]
            name = op.name.lower()
            yield op, {"operation": name, **previous}
            previous = {"previous": name}
