"""Mutation scores of vector suites: the share of mutants of a unit's circuit that a suite kills.

The manifests of exported vectors read them from a table next to this module. `fp9 mutate --record` builds the table
from the records in `records/mutation/netlist`.
"""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("mutation_scores.json")
"""File of the mutation scores, by unit name and by SHA-256 of the suite."""


@functools.cache
def table() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the contents of `TABLE`."""
    scores: dict[str, dict[str, dict[str, Any]]] = json.loads(TABLE.read_text())
    return scores


def percent(share: float) -> str:
    """Format a share of mutants in per cent, rounded down: 100 % means every mutant."""
    return f"{math.floor(round(1000 * share, 6)) / 10:.1f} %"


def score_of(unit: str, sha256: str) -> dict[str, Any] | None:
    """Return the mutation score of the suite with this digest, or None if it was not measured.

    `mutants` counts the mutants chosen with `seeds` that change the circuit's function. The circuit is the Verilog
    with `verilog_sha256`. `killed` counts the mutants for which some expected output of the suite differs. `share`
    is the share of killed mutants.
    """
    return table().get(unit, {}).get(sha256)
