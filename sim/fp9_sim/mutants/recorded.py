"""Records of mutation scores: one for each unit, and the table of all that manifests of vectors quote."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import fp9
import fp9_rtl
from fp9.system import cache
from fp9.system.files import write_whole
from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9.vectors.grades import TABLE
from fp9_rtl.tools.cache import load, store
from fp9_sim import records
from fp9_sim.mutants.draw import Mutant
from fp9_sim.mutants.kinds import KINDS, NETLIST, Kind
from fp9_sim.mutants.mutation_run import REQUIRED, Grade
from fp9_sim.provenance import model_digest

SOURCE = Path(fp9.__file__).resolve().parents[2] / records.HOME
"""The records that lie with the source; beside an installed package there are none."""


def keep(scored: Grade, folder: Path) -> Path:
    """Write the record of a unit into the folder of all records, and the model's table where that is the repository's.

    Returns its path.
    """
    path = records.write(folder, KINDS[scored.kind].claim, scored.to_dict())
    if folder.resolve() == SOURCE:
        write_whole(TABLE, table(folder))
    return path


def read(folder: Path, unit: str, kind: Kind = NETLIST) -> dict[str, Any] | None:
    """The record of a unit in the folder of all records, or None. Raises ValueError for a file that is no record."""
    return records.read(folder, kind.claim, unit)


def proven(unit: Unit, kind: Kind = NETLIST, folder: Path | None = None) -> frozenset[Mutant]:
    """Mutants that the record of a unit's very text says equal, as the same tools number them: what a suite notices
    may have changed since, the circuit has not. None of a damaged record, which is there to be written again.
    """
    try:
        record = read(folder or SOURCE, unit.name, kind)
    except ValueError:
        return frozenset()
    digest = hashlib.sha256(fp9_rtl.verilog(unit).encode()).hexdigest()
    if not record or record["verilog_sha256"] != digest:
        return frozenset()
    if not kind.tools().items() <= record.get("provenance", {}).items():
        return frozenset()
    return frozenset(Mutant(**mutant) for mutant in record.get("equivalent", ()))


def standing(unit: Unit, kind: Kind, folder: Path, circuit_digest: str) -> tuple[dict[str, Any] | None, str | None]:
    """The record of a unit in the folder of all records, and why it says nothing of the circuit, or of the suites, that
    the unit has today; None where it does. Raises ValueError for a file that is no record.
    """
    record = read(folder, unit.name, kind)
    if record is None:
        return None, records.NO_RECORD
    if record.get("circuit_sha256") != circuit_digest:
        return record, records.EARLIER_CIRCUIT
    return record, None if of_todays_suites(unit, record) else records.EARLIER_SUITE


def of_todays_suites(unit: Unit, record: dict[str, Any]) -> bool:
    """Whether the `suites` of a record, each with the `sha256` of its vectors, have all that `REQUIRED` has, as the
    unit has them today."""
    kept = {suite["suite"]: suite.get("sha256") for suite in record["suites"]}
    return all(kept.get(suite) == suite_digest(unit, suite) for suite in REQUIRED)


def suite_digest(unit: Unit, suite: str) -> str:
    """The digest of the vectors that a suite has today; kept, as making them takes seconds, until the model changes."""
    request = {"unit": repr(unit), "suite": suite, "model": model_digest()}
    kept = load(cache.folder("suites"), request)
    if kept is None:
        kept = {"sha256": vectors.digest(vectors.generate(unit, suite))}
        with contextlib.suppress(OSError):
            store(cache.folder("suites"), request, kept)
    return str(kept["sha256"])


def table(folder: Path) -> str:
    """The table of all records in a folder, a unit a line. Raises ValueError for a file that is no record."""
    units = sorted(path.stem for path in (folder / NETLIST.claim).glob("*.json"))
    lines = [f"{json.dumps(unit)}: {json.dumps(_grades(folder, unit))}" for unit in units]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _grades(folder: Path, unit: str) -> dict[str, dict[str, Any]]:
    """What the table says of a unit: each suite's grade, by the digest of its vectors."""
    record = read(folder, unit)
    assert record is not None
    return {
        suite["sha256"]: {
            "mutants": suite["killed"] + len(suite["survivors"]),
            "noticed": suite["killed"],
            "share": suite["rate"],
            "seeds": record["seeds"],
            "verilog_sha256": record["verilog_sha256"],
        }
        for suite in record["suites"]
        if "sha256" in suite
    }
