"""The coverage page: what of each catalogue unit is swept, proven and graded, drawn from the records alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import fp9_rtl
from fp9.system.files import write_whole
from fp9.units import CATALOGUE, Unit
from fp9.vectors.grades import percent
from fp9_sim import mutants, recounts
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD, PROOFS, SWEEPS, path_of, read
from fp9_sim.sweeps import records
from fp9_sim.sweeps.plan import Plan

PAGE = "coverage.md"

_HEADING = """\
# Coverage

What is checked of the circuit that each unit of the catalogue has now, drawn by `fp9 coverage` from the records in this
folder. A record counts when its spec and the digest of its circuit are today's, whatever the text of the Verilog was
that was read ([README.md](README.md) says what ties texts to circuits); "earlier circuit" means that there are only
others, "earlier suite" that the record is of vectors that the suite had before. Proofs are named by what they claim
([proofs.md](proofs.md)); "corner" and "smoke" are the shares of mutants that these suites notice, "counted again" their
operations whose results exact fractions confirm. How each claim is checked: [README.md](README.md).

"""


COLUMNS = {
    "unit": "---",
    "inputs": "--:",
    "swept": "--:",
    "share": "--:",
    "mismatches": "--:",
    "last run": "---",
    "proof": "---",
    "corner": "--:",
    "smoke": "--:",
    "counted again": "--:",
}
"""The columns, and how Markdown sets them."""


@dataclass(frozen=True)
class Covered:
    """A row of the page: the words of every cell after the unit's name, and whether every input was met."""

    unit: str
    cells: tuple[str, ...]
    complete: bool


def coverage(folder: Path | str, units: Iterable[Unit] | None = None) -> list[Covered]:
    """Draw the page from the records in `folder`, for the catalogue's units by default; gives its rows.

    Raises ValueError for a record that is none, OSError where the page cannot be written.
    """
    folder = Path(folder)
    rows = [covered(unit, folder) for unit in (CATALOGUE.values() if units is None else units)]
    lines = [f"| {' | '.join([row.unit, *row.cells])} |" for row in rows]
    complete = [row.unit for row in rows if row.complete]
    missing = [row.unit for row in rows if not row.complete]
    met, not_met = ", ".join(complete) or "none", ", ".join(missing) or "none"
    summary = f"\nEvery input met: {met}.\nNot every input met: {not_met}.\n"
    head = f"| {' | '.join(COLUMNS)} |\n|{'|'.join(COLUMNS.values())}|\n"
    write_whole(folder / PAGE, _HEADING + head + "\n".join(lines) + "\n" + summary)
    return rows


def covered(unit: Unit, folder: Path) -> Covered:
    """What the records say of one unit."""
    digest = fp9_rtl.circuit_digest(unit)
    found = swept(unit, folder, digest)
    plan = found.plan
    space = "with state" if not plan.exhaustive and unit.kind == "mac" else _power(plan.space)
    proof = _proof(unit, folder / PROOFS, digest)
    cells = (space, *_cells(found), proof, *_grades(unit, folder, digest), _recounted(unit, folder))
    return Covered(unit.name, cells, found.share == 1 and not found.mismatches)


@dataclass(frozen=True)
class Swept:
    """The runs of a unit's present circuit, or of any where none was asked for; `earlier` where there are others."""

    plan: Plan
    runs: tuple[records.Record, ...]
    earlier: bool

    @property
    def mismatches(self) -> int:
        return sum(run["mismatches"] for run in self.runs)

    @property
    def enumerated(self) -> int:
        """Inputs that some run has met by enumeration, each once."""
        return sum(_union([run for run in self.runs if run["kind"] == "exhaustive"], self.plan))

    @property
    def drawn(self) -> int:
        """Operations of the longest stratified run."""
        return max((run["count"] for run in self.runs if run["kind"] == "stratified"), default=0)

    @property
    def share(self) -> float:
        """Share of the input space that is met; 0 where it is not enumerated."""
        return self.enumerated / self.plan.space if self.plan.exhaustive else 0.0


def swept(unit: Unit, folder: Path, digest: str | None) -> Swept:
    """The sweeps of a unit by the records in `folder`: those of the circuit `digest`, or of any circuit for None.

    Raises ValueError for a file that is no record.
    """
    path = path_of(folder / SWEEPS, unit.name)
    every = records.read(path) if path.exists() else []
    runs = tuple(
        run
        for run in every
        if digest is None or (run.get("circuit_sha256") == digest and run["spec"] == unit.describe())
    )
    return Swept(Plan(unit), runs, len(every) > len(runs))


def _cells(found: Swept) -> tuple[str, str, str, str]:
    """The words of a sweep: how much, what share, mismatches, the last run."""
    if not found.runs:
        return EARLIER_CIRCUIT if found.earlier else "-", "0 %", "-", "-"
    exhaustive, last = found.plan.exhaustive, found.runs[-1]
    words = f"{found.enumerated:,} enumerated" if exhaustive else f"{found.drawn:,} stratified"
    met = f"{100 * found.share:.3g} %" if exhaustive else "sample"
    return words, met, f"{found.mismatches:,}", f"{last['date']} at {last['revision']}"


def _union(runs: list[records.Record], plan: Plan) -> list[int]:
    """Operations of each stretch of the enumeration that some run has met; what several met counts once."""
    spans = sorted((run["first"] * run["shard_size"], run["stop"] * run["shard_size"]) for run in runs)
    lengths, reached = [], 0
    for start, stop in spans:
        stop = min(stop, plan.space)
        lengths.append(max(0, stop - max(start, reached)))
        reached = max(reached, stop)
    return lengths


def _proof(unit: Unit, folder: Path, digest: str) -> str:
    record = read(folder, unit.name, {"proven", "claims"}, "prove")
    if record is None:
        return "-"
    if record.get("circuit_sha256") != digest:
        return EARLIER_CIRCUIT
    if record["proven"]:
        return ", ".join(claim["name"] for claim in record["claims"])
    return ", ".join(f"{claim['name']}: {claim['state']}" for claim in record["claims"])


def _grades(unit: Unit, folder: Path, digest: str) -> tuple[str, str]:
    """The shares of mutants that `corner` and `smoke` notice."""
    record, why = mutants.standing(unit, mutants.NETLIST, folder, digest)
    if record is None or why:
        said = "-" if why in (None, NO_RECORD) else why
        return said, said
    rates = {suite["suite"]: percent(suite["rate"]) for suite in record["suites"]}
    return rates["corner"], rates["smoke"]


def _recounted(unit: Unit, folder: Path) -> str:
    """How many results fractions confirm, or what is in the way."""
    record, lacking = recounts.read(unit, folder), recounts.lacks(unit, folder)
    if record is None:
        return "-"
    return lacking[0] if lacking else f"{sum(suite['operations'] for suite in record['suites']):,}"


def _power(count: int) -> str:
    """A count as a multiple of a power of two, where that is what it is."""
    twos = (count & -count).bit_length() - 1
    odd = count >> twos
    return f"{count:,}" if twos < 16 else f"2^{twos}" if odd == 1 else f"{odd} x 2^{twos}"
