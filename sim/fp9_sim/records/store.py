"""Records of what was measured of a unit: `records/CLAIM/UNIT.json`, all by one JSON Schema."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from fp9.system.files import write_whole

HOME = Path("records")
"""Folder of all records in the repository."""
ELSEWHERE = Path("build/records")
"""Their folder where the current one is not the repository."""
PLACE = f"{HOME}, where the current folder has it, else {ELSEWHERE}"
"""`home()` in words."""

SWEEP, PROOF, AREA, ENERGY, STUDY = "sweep", "proof", "area", "energy", "study"
MUTATION = {kind: f"mutation/{kind}" for kind in ("netlist", "held-out", "mapped", "constants")}
"""Claims of records, which are their folders."""
OF_FUNCTION = (SWEEP, PROOF)
"""Claims about the function of a circuit; the others are about its form."""

NO_RECORD, EARLIER_CIRCUIT, EARLIER_SUITE = "no record", "earlier circuit", "earlier suite"
"""Why a record says nothing of a unit as it is."""

Fields = dict[str, Any]
"""What a module measured: `unit`, `spec`, `circuit_sha256`, `seconds`, `provenance` and the fields of its claim."""

_COMMON = ("unit", "spec", "circuit_sha256", "seconds", "provenance")


def home() -> Path:
    """Folder of all records: `HOME` where the current folder has it, else a folder of what is built."""
    return HOME if HOME.is_dir() else ELSEWHERE


def path_of(folder: Path, claim: str, unit: str) -> Path:
    """The file of a claim about a unit in the folder of all records."""
    return folder / claim / f"{unit}.json"


def write(folder: Path, claim: str, fields: Mapping[str, Any]) -> Path:
    """Write what was measured in place of an earlier record; returns its path.

    Raises OSError where it cannot be written, ValueError for fields that the schema refuses.
    """
    path = path_of(folder, claim, fields["unit"])
    record = _record(claim, fields)
    if complaint := _complaint("schema", record):
        raise ValueError(f"{path}: {complaint}")
    write_whole(path, json.dumps(record, indent=1) + "\n")
    return path


def read(folder: Path, claim: str, unit: str) -> Fields | None:
    """What was measured for a claim about a unit, or None where there is no record.

    Raises ValueError for a file that the schema refuses; the sentence names the command that measures it again.
    """
    path = path_of(folder, claim, unit)
    record = load(path, "schema", f"remove it and run `fp9 records update {unit} --hours 1`")
    if record is None:
        return None
    if (record["claim"], record["unit"]) != (claim, unit):
        raise ValueError(f"{path} is a record of {record['claim']} of {record['unit']}; move it to its own place")
    provenance = {"date": record["date"], "command": record["command"], **record["tools"]}
    common = {"unit": unit, "spec": record["spec"], "circuit_sha256": record["form"], "provenance": provenance}
    return {**common, "seconds": record["cost"]["seconds"], **record["result"]}


def load(path: Path, schema: str, advice: str) -> Fields | None:
    """A JSON file that a schema of this folder accepts, None where there is none.

    Raises ValueError, with `advice`, for a file that the schema refuses.
    """
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        complaint: str | None = str(error)
    else:
        complaint = _complaint(schema, found)
    if complaint:
        raise ValueError(f"{path} is no valid record ({complaint}); {advice}")
    return dict(found)


def _record(claim: str, fields: Mapping[str, Any]) -> Fields:
    """The record of what was measured, as its file holds it."""
    provenance = dict(fields["provenance"])
    return {
        "unit": fields["unit"],
        "claim": claim,
        "about": "function" if claim in OF_FUNCTION else "form",
        "spec": list(fields["spec"]),
        "form": fields["circuit_sha256"],
        "result": {name: value for name, value in fields.items() if name not in _COMMON},
        "cost": {"seconds": fields["seconds"]},
        "command": provenance.pop("command"),
        "date": provenance.pop("date"),
        "tools": provenance,
    }


def _complaint(schema: str, found: Any) -> str | None:
    """What a schema refuses in a record: the place and the reason; None where it is accepted."""
    error = next(iter(_validator(schema).iter_errors(json.loads(json.dumps(found)))), None)
    if error is None:
        return None
    place = ".".join(map(str, error.absolute_path)) or "the record"
    return f"{place}: {error.message[:120]}"


@functools.cache
def _validator(schema: str) -> Any:
    return Draft202012Validator(json.loads(Path(__file__).with_name(f"{schema}.json").read_text()))
