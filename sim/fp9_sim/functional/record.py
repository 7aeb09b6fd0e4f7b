"""What the suites of a unit meet, as a record: of which vectors, of which situations, the holes by name.

The outputs are those of the golden model, so that no circuit has a part in it: wherever a regression passes, they are
the circuit's.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9_sim import coverage, records
from fp9_sim.mutants import REQUIRED, of_todays_suites
from fp9_sim.provenance import provenance
from fp9_sim.records import EARLIER_SUITE, NO_RECORD

SUITES = tuple(REQUIRED)
"""The suites whose coverage is measured: those that are graded."""

COMPLETE = "corner"
"""The one that should meet everything."""

EARLIER_SITUATIONS = "earlier situations"
"""Why a record says nothing: the coverage model has had other bins since."""

_NAMED = 12
"""Holes of one point or cross that are named."""


@dataclass(frozen=True)
class Item:
    """A point or cross: its bins, those that were met, those left out of it as impossible, the first of its holes."""

    name: str
    bins: int
    met: int
    left_out: int
    holes: tuple[str, ...]


@dataclass(frozen=True)
class Met:
    """A suite: the digest of its vectors, its operations, and what they meet."""

    suite: str
    sha256: str
    operations: int
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Functional:
    """The record of a unit. `situations_sha256` tells the bins that were asked for from others."""

    unit: str
    spec: tuple[str, ...]
    situations_sha256: str
    suites: tuple[Met, ...]
    seconds: float
    provenance: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def covered(unit: Unit) -> Functional:
    """Measure the suites of a unit. Raises ValueError for a kind of unit that has no coverage model."""
    started = time.perf_counter()
    situations = coverage.cover_points_digest(unit)
    suites = tuple(_met(unit, suite) for suite in SUITES)
    seconds = round(time.perf_counter() - started, 1)
    return Functional(unit.name, tuple(unit.describe()), situations, suites, seconds, provenance())


def _met(unit: Unit, suite: str) -> Met:
    made = vectors.generate(unit, suite)
    found = coverage.measure(unit, made.inputs, made.expected)
    items = tuple(
        Item(item.name, item.bins, item.met, sum(item.impossible.values()), item.holes[:_NAMED]) for item in found.items
    )
    return Met(suite, vectors.digest(made), found.operations, items)


def earlier(unit: Unit, folder: Path) -> str | None:
    """Why the record of a unit says nothing of its suites as they are; None where it does.

    Raises ValueError for a file that is no record.
    """
    record = read(unit, folder)
    if record is None:
        return NO_RECORD
    if record["situations_sha256"] != coverage.cover_points_digest(unit):
        return EARLIER_SITUATIONS
    return None if of_todays_suites(unit, record) else EARLIER_SUITE


def lacks(unit: Unit, folder: Path) -> tuple[str, bool] | None:
    """What the record of a unit does not show of its suites, and whether making it anew shows it.

    Raises ValueError for a file that is no record.
    """
    why = earlier(unit, folder)
    if why:
        return why, True
    record = read(unit, folder)
    assert record is not None
    missed = sum(item["bins"] - item["met"] for item in items_of(record, COMPLETE))
    return (f"{COMPLETE} misses {missed}", False) if missed else None


def items_of(record: dict[str, Any], suite: str) -> list[dict[str, Any]]:
    """The points and crosses of a suite in a record."""
    items: list[dict[str, Any]] = next(met["items"] for met in record["suites"] if met["suite"] == suite)
    return items


def read(unit: Unit, folder: Path) -> dict[str, Any] | None:
    """The record of a unit in the folder of all records, or None. Raises ValueError for a file that is no record."""
    needed = {"situations_sha256", "suites", "seconds"}
    return records.read(folder / records.FUNCTIONAL, unit.name, needed, "campaign --claim functional")
