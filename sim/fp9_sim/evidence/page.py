"""Build the page of each unit's verification results: sweeps, proofs and mutation scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fp9.units import CATALOGUE, Unit
from fp9.vectors.mutation_scores import percent
from fp9_sim import mutants, records
from fp9_sim.evidence.catalogue import CLAIMS
from fp9_sim.evidence.claim import Claim, Finding, State
from fp9_sim.evidence.status import certified, status
from fp9_sim.records import Circuit
from fp9_sim.sweeps import swept

_HEADING = """\
# What is checked of each unit

Each row shows the records of one unit. `fp9 records pages` builds this page from `records/`.

- **inputs swept**, **share**: operations that were simulated against the golden model, and their share of all inputs.
- **proven**: the statements that are proven for all inputs.
- **corner**, **smoke**: the mutation score of a suite: the share of mutants that it kills, without equivalent mutants.
- **certified**: all records of the unit are valid.
- **stale**: the record is of another circuit or of other vectors. **missing**: there is no record.

Sweeps and proofs stay valid for every circuit that is equivalent to the recorded one.

"""
_COLUMNS = {
    "unit": "---",
    "inputs swept": "--:",
    "share": "--:",
    "proven": "---",
    "corner": "--:",
    "smoke": "--:",
    "corner, held-out": "--:",
    "corner, mapped": "--:",
    "certified": "---",
}


def page(folder: Path, units: Iterable[Unit] | None = None) -> str:
    every = list(CATALOGUE.values() if units is None else units)
    items = status(every, folder)
    complete = set(certified(items))
    found: dict[str, dict[str, Finding]] = {}
    circuits: dict[str, Circuit] = {}
    for item in items:
        found.setdefault(item.unit.name, {})[item.claim.name] = item.finding
        circuits[item.unit.name] = item.circuit
    lines = [list(_COLUMNS), list(_COLUMNS.values())]
    for unit in every:
        cells = _cells(unit, folder, found[unit.name], circuits[unit.name])
        lines.append([unit.name, *cells, "yes" if unit.name in complete else "no"])
    return _HEADING + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cells(unit: Unit, folder: Path, findings: Mapping[str, Finding], circuit: Circuit) -> list[str]:
    cells = []
    for claim in CLAIMS:
        finding = findings.get(claim.name)
        if claim.name in (records.AREA, records.ENERGY):
            continue
        if finding is None:
            cells.append("-")
        elif finding.state in (State.STALE, State.MISSING):
            cells += [f"{finding.state.value}: {finding.why}"] + ["-"] * (_width(claim) - 1)
        else:
            cells += _shown(unit, folder, claim, circuit)
    return cells


def _width(claim: Claim) -> int:
    return 2 if claim.name in (records.SWEEP, mutants.NETLIST.claim) else 1


def _shown(unit: Unit, folder: Path, claim: Claim, circuit: Circuit) -> list[str]:
    fields = records.read(folder, claim.name, unit.name)
    assert fields is not None
    if claim.name == records.SWEEP:
        found = swept(unit, folder, circuit.forms)
        wrong = f", {found.mismatches:,} mismatches" if found.mismatches else ""
        if found.plan.exhaustive:
            return [f"{found.enumerated:,}{wrong}", f"{100 * found.share:.3g} %"]
        return [f"{found.sampled:,}{wrong}", "sample"]
    if claim.name == records.PROOF:
        return [", ".join(_proven(part["name"], part["state"]) for part in fields["claims"])]
    scores = {suite["suite"]: percent(suite["rate"]) for suite in fields["suites"]}
    return [scores["corner"], scores["smoke"]] if _width(claim) == 2 else [scores["corner"]]


def _proven(name: str, state: str) -> str:
    return name if state == "proven" else f"{name} ({state})"
