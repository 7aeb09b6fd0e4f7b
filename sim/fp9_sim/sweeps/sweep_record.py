"""The record of a unit's sweeps: a growing list of runs, and their total time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.units import Unit
from fp9_sim.records import SWEEP, read, write
from fp9_sim.sweeps.plan import Plan

Run = dict[str, Any]

_PROVENANCE = ("date", "command", "revision", "fp9", "yosys", "python", "verilator")


def add(folder: Path, unit: str, run: Run) -> Path:
    """Add a sweep run to a unit's record. The new run replaces an earlier run with the same identifier."""
    with _locked(folder / SWEEP):
        kept = read(folder, SWEEP, unit)
        others = [one for one in kept["runs"] if one["run"] != run["run"]] if kept else []
        return write(folder, SWEEP, of_runs(unit, [*others, run]))


def of_runs(unit: str, runs: list[Run]) -> Mapping[str, Any]:
    # The circuit digest and the provenance of the record are copied from the last run.
    last = runs[-1]
    return {
        "unit": unit,
        "spec": last["spec"],
        "circuit_sha256": last["circuit_sha256"],
        "seconds": round(sum(run["seconds"] for run in runs), 1),
        "provenance": {name: last[name] for name in _PROVENANCE if name in last},
        "runs": runs,
    }


@dataclass(frozen=True)
class Swept:
    """The recorded sweep runs of a unit.

    `earlier` is true if the record also contains sweep runs of earlier circuits or specifications.
    """

    plan: Plan
    runs: tuple[Run, ...]
    earlier: bool

    @property
    def mismatches(self) -> int:
        return sum(run["mismatches"] for run in self.runs)

    @property
    def enumerated(self) -> int:
        """Return the number of distinct inputs that were simulated in all recorded exhaustive sweeps together."""
        return sum(_union([run for run in self.runs if run["kind"] == "exhaustive"], self.plan))

    @property
    def sampled(self) -> int:
        return max((run["count"] for run in self.runs if run["kind"] == "stratified"), default=0)

    @property
    def share(self) -> float:
        """Return the fraction of the input space that the sweep runs cover, or 0 for a stratified sweep."""
        return self.enumerated / self.plan.space if self.plan.exhaustive else 0.0


def swept(unit: Unit, folder: Path, forms: Collection[str] | None) -> Swept:
    """Return the recorded sweep runs of a unit.

    The function returns only sweep runs with the unit's current specification, and with a circuit digest that `forms`
    contains. If `forms` is None, all recorded sweep runs are returned.

    Raises ValueError if the record file is invalid.
    """
    kept = read(folder, SWEEP, unit.name)
    every = kept["runs"] if kept else []
    runs = tuple(
        run for run in every if forms is None or (run["circuit_sha256"] in forms and run["spec"] == unit.describe())
    )
    return Swept(Plan(unit), runs, len(every) > len(runs))


def _union(runs: list[Run], plan: Plan) -> list[int]:
    spans = sorted((run["first"] * run["shard_size"], run["stop"] * run["shard_size"]) for run in runs)
    lengths, reached = [], 0
    for start, stop in spans:
        stop = min(stop, plan.space)
        lengths.append(max(0, stop - max(start, reached)))
        reached = max(reached, stop)
    return lengths


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
