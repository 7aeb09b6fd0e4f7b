"""Cross-check golden vectors with the independent reference model in exact fractions.

A comparison of a compiled kernel with a circuit cannot reveal a bug that both implementations contain. The reference
model runs in a separate process, which cannot import the compiled kernels or the golden model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fp9.reference import isolated_results
from fp9.vectors import sets as vectors

_SHOWN = 16


@dataclass(frozen=True)
class CrossCheck:
    """The outcome of a cross-check of golden vectors. `shown` holds the first different operations."""

    suite: str
    operations: int
    different: int
    shown: tuple[dict[str, Any], ...]


def cross_check(made: vectors.VectorSet) -> CrossCheck:
    """Compare golden vectors with the results of the independent reference model.

    Raises RuntimeError if the process of the reference model fails.
    """
    names = list(made.inputs)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(c.tolist() for c in made.inputs.values()), strict=True)]
    computed = isolated_results(made.unit, rows)
    wrong = np.zeros(len(rows), dtype=np.bool_)
    for name, column in made.expected.items():
        differs = np.array([row[name] for row in computed], dtype=np.int64) != column
        wrong |= differs & made.care.get(name, np.True_)
    shown = tuple(
        {"inputs": rows[i], "golden": {name: int(c[i]) for name, c in made.expected.items()}, "reference": computed[i]}
        for i in np.flatnonzero(wrong)[:_SHOWN]
    )
    return CrossCheck(made.origin["suite"], len(rows), int(wrong.sum()), shown)
