"""Mutation scores of vector suites. A score is the share of a circuit's mutants that the suite kills.

The manifests of exported vectors read the scores from a table next to this module. `fp9 mutate --record` builds the
table from the records in `records/mutation/netlist`.
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
    """Return the contents of the file `TABLE`."""
    scores: dict[str, dict[str, dict[str, Any]]] = json.loads(TABLE.read_text())
    return scores


def percent(share: float) -> str:
    """Return a share as text in per cent, rounded down. Thus 100 % means that every mutant is killed."""
    return f"{math.floor(round(1000 * share, 6)) / 10:.1f} %"


def score_of(unit: str, sha256: str) -> dict[str, Any] | None:
    """Return the mutation score of the suite with this digest, or None if it was not measured.

    The score has these entries:

    - `seeds`: random seeds with which mutants were chosen.
    - `mutants`: number of chosen mutants that change the circuit's function.
    - `killed`: number of mutants for which an output differs from the suite's expected output.
    - `share`: share of killed mutants.
    - `verilog_sha256`: digest of the circuit's Verilog.
    """
    return table().get(unit, {}).get(sha256)
