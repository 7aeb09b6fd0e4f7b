"""Grades of vector suites: the share of single errors in a unit's circuit that a suite notices.

The manifests of exported vectors take them from a table beside this module, which `fp9 mutate --record` builds from the
records in `records/mutation/netlist`.
"""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("grades.json")
"""The grades of each unit by its name, each by the SHA-256 of the suite."""


@functools.cache
def table() -> dict[str, dict[str, dict[str, Any]]]:
    """What `TABLE` holds."""
    grades: dict[str, dict[str, dict[str, Any]]] = json.loads(TABLE.read_text())
    return grades


def percent(share: float) -> str:
    """A share of mutants in per cent, rounded down: 100 % means every mutant."""
    return f"{math.floor(round(1000 * share, 6)) / 10:.1f} %"


def grade_of(unit: str, sha256: str) -> dict[str, Any] | None:
    """What is known of the suite with this digest, or None where it was not scored.

    `mutants` are the errors drawn with `seeds` that change what the circuit computes, the circuit being the Verilog
    with `verilog_sha256`; `noticed` counts those for which some expected output of the suite differs, and `share` is
    theirs of all.
    """
    return table().get(unit, {}).get(sha256)
