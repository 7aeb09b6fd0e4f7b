"""Grades of vector suites: the share of single errors in a unit's circuit that a suite notices.

A record for each unit, `UNIT.json`, lies beside this module, where `fp9 grade --record` writes it. The manifests of
exported vectors take the figure from there.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "docs" / "verification" / "grades"


def path_of(unit: str, folder: Path = FOLDER) -> Path:
    """Where the record of a unit stands."""
    return folder / f"{unit}.json"


def record_of(unit: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The record of a unit by its name, or None where it has none. Raises ValueError for a file that is no record."""
    path = path_of(unit, folder)
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text())
    except ValueError:
        record = None
    if not isinstance(record, dict) or not {"verilog_sha256", "suites", "seeds"} <= record.keys():
        raise ValueError(f"{path} is no grade; write it anew with `fp9 grade {unit} --record`")
    return record


def percent(share: float) -> str:
    """A share of mutants in per cent, rounded down: 100 % means every mutant."""
    return f"{math.floor(round(1000 * share, 6)) / 10:.1f} %"


def grade_of(unit: str, sha256: str) -> dict[str, Any] | None:
    """What is known of the suite with this digest, or None where it was not graded.

    `mutants` are the errors drawn with `seeds` that change what the circuit computes, the circuit being the Verilog
    with `verilog_sha256`; `noticed` counts those for which some expected output of the suite differs.
    """
    record = record_of(unit)
    if record is None:
        return None
    for suite in record["suites"]:
        if suite.get("sha256") == sha256:
            return {
                "mutants": suite["killed"] + len(suite["survivors"]),
                "noticed": suite["killed"],
                "share": suite["rate"],
                "seeds": record["seeds"],
                "verilog_sha256": record["verilog_sha256"],
            }
    return None
