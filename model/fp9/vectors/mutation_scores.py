"""Mutation scores of vector suites: the fraction of a circuit's mutants that a suite kills.

`fp9 mutate --record` builds the table of mutation scores from the records in `records/mutation/netlist`.
"""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

# Mutation scores by unit name and by SHA-256 of the suite.
TABLE = Path(__file__).with_name("mutation_scores.json")


@functools.cache
def table() -> dict[str, dict[str, dict[str, Any]]]:
    scores: dict[str, dict[str, dict[str, Any]]] = json.loads(TABLE.read_text())
    return scores


def percent(share: float) -> str:
    # Rounded down, so that 100 % means that every mutant is killed.
    return f"{math.floor(round(1000 * share, 6)) / 10:.1f} %"


def score_of(unit: str, sha256: str) -> dict[str, Any] | None:
    """Return the mutation score of the suite with the given digest, or None if the suite has no measured score."""
    # The keys are seeds, mutants (without equivalent mutants), killed, share (the fraction killed) and verilog_sha256.
    return table().get(unit, {}).get(sha256)
