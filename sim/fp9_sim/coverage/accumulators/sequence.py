"""Cover points of pairs of consecutive operations."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Columns, Mac, MacOp
from fp9_sim.coverage.model import Bin, Cross


class Sequence:
    """Cover points for an operation and the operation before it. At the first operation, the second point is
    left out.
    """

    def __init__(self, unit: Mac) -> None:
        self._operations = unit.operations

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        """Return the bins of both cover points: the operation, and the operation before it."""
        names = tuple(op.name.lower() for op in self._operations)
        return {"operation": names, "previous": names}

    @property
    def crosses(self) -> tuple[Cross, ...]:
        """Return the cross of the two cover points."""
        return (Cross("sequence", ("previous", "operation")),)

    def read(self, inputs: Columns) -> Iterator[tuple[MacOp, dict[str, Bin]]]:
        """Yield each operation with its bins. A code that is too large selects the last operation."""
        previous: dict[str, Bin] = {}
        for number in inputs["op"].tolist():
            op = self._operations[min(number, len(self._operations) - 1)]
            name = op.name.lower()
            yield op, {"operation": name, **previous}
            previous = {"previous": name}
