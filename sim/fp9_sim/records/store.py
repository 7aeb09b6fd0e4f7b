"""Store records in files `records/CLAIM/UNIT.json`, which all follow the same JSON Schema."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from fp9.system.files import write_whole

HOME = Path("records")
ELSEWHERE = Path("build/records")
PLACE = f"{HOME}, where the current folder has it, else {ELSEWHERE}"

SWEEP, PROOF, AREA, ENERGY, STUDY = "sweep", "proof", "area", "energy", "study"
RECIPES = "recipes"
"""Subfolder of the training runs and experiments that `fp9 recipes` measures."""
MUTATION = {kind: f"mutation/{kind}" for kind in ("netlist", "held-out", "mapped")}
OF_FUNCTION = (SWEEP, PROOF)
"""Claims about the function of a circuit. All other claims are about its form."""

NO_RECORD, EARLIER_CIRCUIT, EARLIER_SUITE = "no record", "earlier circuit", "earlier suite"

Fields = dict[str, Any]

_COMMON = ("unit", "spec", "circuit_sha256", "seconds", "provenance")


def home() -> Path:
    """Return the folder of all records: `records` if it exists in the current folder, otherwise `build/records`."""
    return HOME if HOME.is_dir() else ELSEWHERE


def path_of(folder: Path, claim: str, unit: str) -> Path:
    return folder / claim / f"{unit}.json"


def write(folder: Path, claim: str, fields: Mapping[str, Any]) -> Path:
    """Write a record and return its path.

    Raises OSError if the file cannot be written, and ValueError if the record does not match the schema.
    """
    path = path_of(folder, claim, fields["unit"])
    record = _record(claim, fields)
    if complaint := _complaint("schema", record):
        raise ValueError(f"{path}: {complaint}")
    write_whole(path, json.dumps(record, indent=1) + "\n")
    return path


def read(folder: Path, claim: str, unit: str) -> Fields | None:
    """Return the fields of a record, or None if there is no record.

    Raises ValueError for a file that does not match the schema.
    """
    path = path_of(folder, claim, unit)
    record = load(path, "schema", f"remove it and run `fp9 records update {unit} --hours 1`")
    if record is None:
        return None
    if (record["claim"], record["unit"]) != (claim, unit):
        raise ValueError(
            f"{path} is a record of {record['claim']} of {record['unit']}; move it to the file of that record"
        )
    provenance = {"date": record["date"], "command": record["command"], **record["tools"]}
    common = {"unit": unit, "spec": record["spec"], "circuit_sha256": record["form"], "provenance": provenance}
    return {**common, "seconds": record["cost"]["seconds"], **record["result"]}


def load(path: Path, schema: str, advice: str) -> Fields | None:
    """Return the content of a JSON file, or None if the file does not exist.

    Raises ValueError if the file does not match the schema; `advice` is part of the error message.
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
    error = next(iter(_validator(schema).iter_errors(json.loads(json.dumps(found)))), None)
    if error is None:
        return None
    place = ".".join(map(str, error.absolute_path)) or "the record"
    return f"{place}: {error.message[:120]}"


@functools.cache
def _validator(schema: str) -> Any:
    return Draft202012Validator(json.loads(Path(__file__).with_name(f"{schema}.json").read_text()))
