"""The results of a unit's vectors counted again in exact fractions, and the record of it.

A kernel and a circuit that share a fault agree with each other; `fp9.reference` computes the same operations from the
records alone, in a process that cannot load kernel or golden model.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fp9.reference import isolated_results
from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9_sim import records
from fp9_sim.mutants import REQUIRED, of_todays_suites
from fp9_sim.provenance import provenance
from fp9_sim.records import EARLIER_SUITE, NO_RECORD

SUITES = tuple(REQUIRED)
"""The suites that are counted again, each as a whole: those that are graded."""


@dataclass(frozen=True)
class Recounted:
    """A suite: the digest of its vectors, how many operations it has, how many of them came out otherwise, and some of
    these."""

    suite: str
    sha256: str
    operations: int
    different: int
    shown: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Recount:
    """The record of a unit."""

    unit: str
    spec: tuple[str, ...]
    suites: tuple[Recounted, ...]
    seconds: float
    provenance: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


_SHOWN = 16
"""Operations that are kept of those that differ."""


def recount(unit: Unit) -> Recount:
    """Count every operation of the unit's suites again. Raises RuntimeError where the other process fails."""
    started = time.perf_counter()
    suites = tuple(compared(vectors.generate(unit, suite)) for suite in SUITES)
    return Recount(unit.name, tuple(unit.describe()), suites, round(time.perf_counter() - started, 1), provenance())


def compared(made: vectors.VectorSet) -> Recounted:
    """Vectors counted again. Raises RuntimeError where the other process fails."""
    names = list(made.inputs)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(c.tolist() for c in made.inputs.values()), strict=True)]
    again = isolated_results(made.unit, rows)
    wrong = np.zeros(len(rows), dtype=np.bool_)
    for name, column in made.expected.items():
        differs = np.array([row[name] for row in again], dtype=np.int64) != column
        wrong |= differs & made.care.get(name, np.True_)
    shown = tuple(
        {"inputs": rows[i], "golden": {name: int(c[i]) for name, c in made.expected.items()}, "again": again[i]}
        for i in np.flatnonzero(wrong)[:_SHOWN]
    )
    return Recounted(made.origin["suite"], vectors.digest(made), len(rows), int(wrong.sum()), shown)


def lacks(unit: Unit, folder: Path) -> tuple[str, bool] | None:
    """What the record of a unit does not show of its suites, and whether making it anew shows it.

    Raises ValueError for a file that is no record.
    """
    record = read(unit, folder)
    if record is None:
        return NO_RECORD, True
    if not of_todays_suites(unit, record):
        return EARLIER_SUITE, True
    different = [f"{s['different']:,} of {s['suite']} differ" for s in record["suites"] if s["different"]]
    return (", ".join(different), False) if different else None


def read(unit: Unit, folder: Path) -> dict[str, Any] | None:
    """The record of a unit in the folder of all records, or None. Raises ValueError for a file that is no record."""
    return records.read(folder / records.RECOUNTS, unit.name, {"suites", "seconds"}, "campaign --claim recount")
