"""The operations of an accumulator, each behind the one before."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Columns, Mac, MacOp
from fp9_sim.coverage.model import Bin, Cross


class Sequence:
    """The operation and the one before it; the first has none."""

    def __init__(self, unit: Mac) -> None:
        self._operations = unit.operations

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        """Bins of both points."""
        names = tuple(op.name.lower() for op in self._operations)
        return {"operation": names, "previous": names}

    @property
    def crosses(self) -> tuple[Cross, ...]:
        """Every operation behind every other."""
        return (Cross("sequence", ("previous", "operation")),)

    def read(self, inputs: Columns) -> Iterator[tuple[MacOp, dict[str, Bin]]]:
        """The operations and their facts; a value of the port beyond the last name means the last."""
        previous: dict[str, Bin] = {}
        for number in inputs["op"].tolist():
            op = self._operations[min(number, len(self._operations) - 1)]
            name = op.name.lower()
            yield op, {"operation": name, **previous}
            previous = {"previous": name}
