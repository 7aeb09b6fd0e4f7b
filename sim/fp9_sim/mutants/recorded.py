"""Records of mutation scores, one file for each unit and kind of mutants."""

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
from fp9.vectors.mutation_scores import TABLE
from fp9_rtl.tools.cache import load, store
from fp9_sim import records
from fp9_sim.mutants.draw import Mutant
from fp9_sim.mutants.kinds import KINDS, NETLIST, Kind
from fp9_sim.mutants.mutation_run import REQUIRED, MutationScore
from fp9_sim.provenance import model_digest

SOURCE = Path(fp9.__file__).resolve().parents[2] / records.HOME
"""Path of the records in the source repository. An installed package has no such folder."""


def keep(scored: MutationScore, folder: Path) -> Path:
    """Write a unit's mutation record and return the path of the file.

    If `folder` belongs to the source repository, the table of mutation scores in the package `fp9` is also updated.
    """
    path = records.write(folder, KINDS[scored.kind].claim, scored.to_dict())
    if folder.resolve() == SOURCE:
        write_whole(TABLE, table(folder))
    return path


def read(folder: Path, unit: str, kind: Kind = NETLIST) -> dict[str, Any] | None:
    """Return a unit's mutation record, or None if there is no record. Raises ValueError for another kind of file."""
    return records.read(folder, kind.claim, unit)


def proven(unit: Unit, kind: Kind = NETLIST, folder: Path | None = None) -> frozenset[Mutant]:
    """Return the mutants that the unit's record lists as proven equivalent to the original circuit.

    Return an empty set if the record is missing, or if the unit's Verilog or the tool versions have changed since. A
    proof of equivalence stays valid when a vector suite changes.
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
    """Return a unit's mutation record, and the reason why the record is missing or stale.

    The reason is None for a valid record. Raises ValueError if the file is not a mutation record.
    """
    record = read(folder, unit.name, kind)
    if record is None:
        return None, records.NO_RECORD
    if record.get("circuit_sha256") != circuit_digest:
        return record, records.EARLIER_CIRCUIT
    return record, None if of_todays_suites(unit, record) else records.EARLIER_SUITE


def of_todays_suites(unit: Unit, record: dict[str, Any]) -> bool:
    """Return whether the suites in a mutation record had the same vectors as the unit's current suites."""
    kept = {suite["suite"]: suite.get("sha256") for suite in record["suites"]}
    return all(kept.get(suite) == suite_digest(unit, suite) for suite in REQUIRED)


def suite_digest(unit: Unit, suite: str) -> str:
    """Return the digest of a suite's current vectors."""
    request = {"unit": repr(unit), "suite": suite, "model": model_digest()}
    kept = load(cache.folder("suites"), request)
    if kept is None:
        kept = {"sha256": vectors.digest(vectors.generate(unit, suite))}
        with contextlib.suppress(OSError):
            store(cache.folder("suites"), request, kept)
    return str(kept["sha256"])


def table(folder: Path) -> str:
    units = sorted(path.stem for path in (folder / NETLIST.claim).glob("*.json"))
    lines = [f"{json.dumps(unit)}: {json.dumps(_scores(folder, unit))}" for unit in units]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _scores(folder: Path, unit: str) -> dict[str, dict[str, Any]]:
    record = read(folder, unit)
    assert record is not None
    return {
        suite["sha256"]: {
            "mutants": suite["killed"] + len(suite["survivors"]),
            "killed": suite["killed"],
            "share": suite["rate"],
            "seeds": record["seeds"],
            "verilog_sha256": record["verilog_sha256"],
        }
        for suite in record["suites"]
        if "sha256" in suite
    }
