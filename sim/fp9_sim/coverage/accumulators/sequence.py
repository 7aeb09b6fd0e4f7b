"""Cover points for pairs of consecutive accumulator operations."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Columns, Mac, MacOp
from fp9_sim.coverage.model import Bin, Cross


class Sequence:
    """Cover points for an accumulator operation and for the operation before it.

    The first operation of a sequence has no previous operation.
    """

    def __init__(self, unit: Mac) -> None:
        self._operations = unit.operations

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        """Return the bins of two cover points: the operation, and the previous operation."""
        names = tuple(op.name.lower() for op in self._operations)
        return {"operation": names, "previous": names}

    @property
    def crosses(self) -> tuple[Cross, ...]:
        """Return the cross of an accumulator operation with the operation before it."""
        return (Cross("sequence", ("previous", "operation")),)

    def read(self, inputs: Columns) -> Iterator[tuple[MacOp, dict[str, Bin]]]:
        """Yield each operation with the bins that the operation hits.

        If a code is above the code of the last operation, the code selects the last operation.
        """
        previous: dict[str, Bin] = {}
        for number in inputs["op"].tolist():
            op = self._operations[min(number, len(self._operations) - 1)]
            name = op.name.lower()
            yield op, {"operation": name, **previous}
            previous = {"previous": name}
