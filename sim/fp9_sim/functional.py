"""Functional coverage of a unit's suites: what they meet of the situations that its specification has.

The outputs are those of the golden model, so that no circuit has a part in it: wherever a regression passes, they are
the circuit's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9_sim import coverage

SUITES = ("smoke", "corner")
"""The suites whose coverage is measured; the last one should meet everything."""

_NAMED = 12
"""Holes of one cover point or cross that are named."""


@dataclass(frozen=True)
class Item:
    """A cover point or cross: its bins, those met, those excluded as impossible, and the first of its holes."""

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
        """All bins that can be met."""
        return sum(item.bins for item in self.items)

    @property
    def met(self) -> int:
        """The bins that are met."""
        return sum(item.met for item in self.items)

    @property
    def excluded(self) -> int:
        """The bins that are excluded as impossible."""
        return sum(item.excluded for item in self.items)

    @property
    def holes(self) -> tuple[str, ...]:
        """A line for each cover point or cross with bins that are not met."""
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
    """Measure the coverage of a suite. Raises ValueError for a kind of unit that has no coverage model."""
    made = vectors.generate(unit, suite)
    found = coverage.measure(unit, made.inputs, made.expected)
    items = tuple(
        Item(item.name, item.bins, item.met, sum(item.impossible.values()), item.holes[:_NAMED]) for item in found.items
    )
    return Coverage(unit.name, suite, found.operations, items)
