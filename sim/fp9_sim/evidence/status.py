"""Determine the state of units' records, and estimate the time to update the records."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.units import CATALOGUE, Unit
from fp9_sim import records
from fp9_sim.energy import study
from fp9_sim.evidence.catalogue import CLAIMS
from fp9_sim.evidence.claim import Claim, Finding, State, in_catalogue
from fp9_sim.records import Circuit, circuit_of
from fp9_sim.sweeps import executors

# Smallest number of units for which parallel processes save time despite their start-up time.
_MANY = 4

_DEFAULT = tuple(dict.fromkeys((*CATALOGUE.values(), *study.UNITS.values())))

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Item:
    """Claim about a unit, and whether the record of this claim is valid, stale, missing or failed.

    `seconds` is the estimated time to measure a missing or stale record. `seconds` is None if the record is neither
    missing nor stale, or if no estimate exists.
    """

    # The estimate for a proof counts only cases without a cached verdict. Other estimates are the time of the earlier
    # record, or else the median time for units of the same kind or for all units.

    unit: Unit
    claim: Claim
    finding: Finding
    circuit: Circuit
    seconds: float | None

    @property
    def pending(self) -> bool:
        """Return whether the record is missing or stale, so that the claim must be measured."""
        return self.finding.state in (State.STALE, State.MISSING)

    def to_dict(self) -> dict[str, Any]:
        return {
            "unit": self.unit.name,
            "claim": self.claim.name,
            "about": self.claim.about,
            "state": self.finding.state.value,
            "why": self.finding.why,
            "seconds": self.seconds,
        }


def status(
    units: Iterable[Unit] | None,
    folder: Path,
    claims: Sequence[Claim] = CLAIMS,
    progress: Progress = lambda what, done, total: None,
) -> list[Item]:
    """Return the state of every claim about the given units, according to the records in `folder`.

    If `units` is None, the catalogue units and the units of the energy study are examined. Raises ValueError for an
    invalid record, and if fp9 cannot generate Verilog for a unit.
    """
    asked: dict[Unit, list[Claim]] = {}
    units = None if units is None else list(units)
    for claim in claims:
        for unit in _DEFAULT if units is None else units:
            if claim.measures(unit) or (units is not None and not in_catalogue(unit)):
                asked.setdefault(unit, []).append(claim)
    known = {claim.name: _known(claim, folder) for claim in claims}
    circuits: dict[Unit, Circuit] = {}
    for unit, circuit in _circuits(list(asked), folder):
        progress(unit.name, len(circuits), len(asked))
        circuits[unit] = circuit
    return [
        _item(unit, claim, folder, circuits[unit], known[claim.name])
        for unit, of_unit in asked.items()
        for claim in of_unit
    ]


def _circuits(units: list[Unit], folder: Path) -> Iterator[tuple[Unit, Circuit]]:
    # Elaboration of a unit takes seconds, so many units are elaborated in parallel.
    if len(units) < _MANY:
        yield from ((unit, circuit_of(unit, folder)) for unit in units)
    else:
        yield from executors.run(_circuit, [(unit, folder) for unit in units], len(os.sched_getaffinity(0)), None)


def _circuit(task: tuple[Unit, Path]) -> tuple[Unit, Circuit]:
    unit, folder = task
    return unit, circuit_of(unit, folder)


def _item(unit: Unit, claim: Claim, folder: Path, circuit: Circuit, known: Mapping[Unit, float]) -> Item:
    finding = claim.finding(unit, folder, circuit)
    seconds = None
    if finding.state in (State.STALE, State.MISSING):
        left = claim.left(unit, folder) if claim.left else None
        seconds = _estimate(unit, known) if left is None else left
    return Item(unit, claim, finding, circuit, seconds)


def _known(claim: Claim, folder: Path) -> dict[Unit, float]:
    fields = {
        unit: records.read(folder, claim.name, unit.name) for unit in (*CATALOGUE.values(), *study.UNITS.values())
    }
    return {unit: found["seconds"] for unit, found in fields.items() if found and found["seconds"] is not None}


def _estimate(unit: Unit, known: Mapping[Unit, float]) -> float | None:
    if unit in known:
        return known[unit]
    alike = [seconds for other, seconds in known.items() if other.kind == unit.kind]
    likely = alike or list(known.values())
    return statistics.median(likely) if likely else None


def ranked(items: Iterable[Item]) -> list[Item]:
    """Return the items to measure: missing records before stale records, and quick measurements before slow ones."""
    pending = [item for item in items if item.pending]
    return sorted(
        pending,
        key=lambda item: (
            item.finding.state is not State.MISSING,
            float("inf") if item.seconds is None else item.seconds,
        ),
    )


def summary(items: Sequence[Item]) -> str:
    """Return a sentence that states the number of records in each state and the total hours of pending measurements."""
    counts = {state: sum(item.finding.state is state for item in items) for state in State}
    words = [f"{count} {state.value}" for state, count in counts.items() if count]
    pending = [item for item in items if item.pending]
    hours = sum(item.seconds or 0 for item in pending) / 3600
    unknown = sum(item.seconds is None for item in pending)
    cost = f"; {hours:.2f} hours of one core to measure" if pending else ""
    return ", ".join(words) + cost + (f", {unknown} of unknown cost" if unknown else "")


def certified_names() -> set[str]:
    """Return the names of the catalogue units whose records in the current folder support every claim.

    Raises ValueError if the current folder has no subfolder `records`.
    """
    if not records.HOME.is_dir():
        raise ValueError(f"no folder {records.HOME.absolute()}; run in a checkout of fp9")
    return set(certified(status(CATALOGUE.values(), records.HOME)))


def certified(items: Iterable[Item]) -> list[str]:
    """Return the names of the certified units. A unit is certified if all claims about the unit hold."""
    holds: dict[str, bool] = {}
    for item in items:
        holds[item.unit.name] = holds.get(item.unit.name, True) and item.finding.holds
    return [name for name, every in holds.items() if every]
