"""Mutation scores of vector suites: the fraction of a circuit's mutants that a suite kills.

The mutation scores are in a table in a file beside this module. When vectors are exported, their manifest copies the
mutation score from the table. `fp9 mutate --record` builds the table from the records in `records/mutation/netlist`.
"""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("mutation_scores.json")
"""File with the mutation scores, by unit name and by SHA-256 of the suite."""


@functools.cache
def table() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the mutation scores in the file `TABLE`."""
    scores: dict[str, dict[str, dict[str, Any]]] = json.loads(TABLE.read_text())
    return scores


def percent(share: float) -> str:
    """Return a fraction as a percentage.

    The percentage is rounded down, so that 100 % means that every mutant is killed.
    """
    return f"{math.floor(round(1000 * share, 6)) / 10:.1f} %"


def score_of(unit: str, sha256: str) -> dict[str, Any] | None:
    """Return the mutation score of the suite with the given digest, or None if the suite has no measured score.

    A score states the random seeds (`seeds`), the number of non-equivalent mutants (`mutants`), and the number of
    killed mutants (`killed`). A score also states the fraction of killed mutants (`share`) and the digest of the
    circuit's Verilog (`verilog_sha256`).
    """
    return table().get(unit, {}).get(sha256)
