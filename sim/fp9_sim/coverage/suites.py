"""Functional coverage of a unit's suites: which cover points of its specification they hit.

The outputs come from the golden model, without a circuit. Where a regression passes, they equal the circuit's
outputs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9_sim import coverage

SUITES = ("smoke", "corner")
"""Suites whose coverage is measured. The corner suite should hit every bin."""

_NAMED = 12
"""Number of holes of a cover point or cross that are named."""


@dataclass(frozen=True)
class Item:
    """A cover point or cross: bins, bins hit, excluded bins, and its first holes."""

    name: str
    bins: int
    met: int
    excluded: int
    holes: tuple[str, ...]


@dataclass(frozen=True)
class Coverage:
    """The coverage of one suite of a unit."""

    unit: str
    suite: str
    operations: int
    items: tuple[Item, ...]

    @property
    def bins(self) -> int:
        """Return the number of possible bins."""
        return sum(item.bins for item in self.items)

    @property
    def met(self) -> int:
        """Return the number of bins that were hit."""
        return sum(item.met for item in self.items)

    @property
    def excluded(self) -> int:
        """Return the number of bins that are excluded as impossible."""
        return sum(item.excluded for item in self.items)

    @property
    def holes(self) -> tuple[str, ...]:
        """Return a line for each cover point or cross with holes."""
        lines = []
        for item in self.items:
            missing = item.bins - item.met
            more = [f"{missing - len(item.holes)} more"] if missing > len(item.holes) else []
            if missing:
                lines.append(f"{item.name}: {', '.join([*item.holes, *more])}")
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"bins": self.bins, "met": self.met, "excluded": self.excluded}


def measured(unit: Unit, suite: str) -> Coverage:
    """Measure the coverage of a suite. Raises ValueError for a kind of unit without a coverage model."""
    made = vectors.generate(unit, suite)
    found = coverage.measure(unit, made.inputs, made.expected)
    items = tuple(
        Item(item.name, item.bins, item.met, sum(item.impossible.values()), item.holes[:_NAMED]) for item in found.items
    )
    return Coverage(unit.name, suite, found.operations, items)
