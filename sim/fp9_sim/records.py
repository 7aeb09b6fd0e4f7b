"""Records of what was checked of a unit: `UNIT.json` in the folder of its kind, below `docs/verification`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole

HOME = Path("docs/verification")
"""Folder of all records in the repository."""
ELSEWHERE = Path("build/verification")
"""Their folder where the current one is not the repository."""
PLACE = f"{HOME} where one stands in the repository, else {ELSEWHERE}"
"""`home()` in words."""
SWEEPS, PROOFS, GRADES, TEXTS, RECOUNTS = "sweeps", "proofs", "grades", "texts", "recounts"
LAST, MAPPED, CONSTANTS, AREAS, FUNCTIONAL = "last", "mapped", "constants", "areas", "functional"
"""Folders of each kind in it."""
NO_RECORD, EARLIER_CIRCUIT, EARLIER_SUITE = "no record", "earlier circuit", "earlier suite"
"""Why a record says nothing of a unit as it is."""


def home() -> Path:
    """Folder of all records: `HOME` where one stands in the repository, else a folder of things made."""
    return HOME if HOME.is_dir() else ELSEWHERE


def path_of(folder: Path, unit: str) -> Path:
    """The record of a unit in the folder of its kind."""
    return folder / f"{unit}.json"


def write(folder: Path, unit: str, record: Mapping[str, Any]) -> Path:
    """Write the record of a unit in place of an earlier one; returns its path. Raises OSError where it cannot."""
    path = path_of(folder, unit)
    write_whole(path, json.dumps(record, indent=1) + "\n")
    return path


def read(folder: Path, unit: str, needed: set[str], command: str) -> dict[str, Any] | None:
    """The record of a unit, or None where it has none.

    Raises ValueError for a file without the fields that are needed, which names the command that writes it.
    """
    path = path_of(folder, unit)
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text())
    except ValueError:
        record = None
    if not isinstance(record, dict) or not needed <= record.keys():
        raise ValueError(f"{path} is no record; write it anew with `fp9 {command} {unit} --record`")
    return record
