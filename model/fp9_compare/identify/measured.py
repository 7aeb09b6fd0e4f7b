"""Search for the accumulator model that reproduces a fixed set of measured sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fp9.engines import ENGINES, PARAMETERS, Engine
from fp9_compare.identify import fields
from fp9_compare.identify.evidence import Evidence
from fp9_compare.identify.rows import Rows
from fp9_compare.identify.search import explainer

# Number of sums in a first comparison, which already excludes most accumulator models.
_FIRST = 64


@dataclass(frozen=True)
class Explained:
    """Result of the search for an accumulator model that reproduces measured sums.

    `engine` is the accumulator model that reproduces every sum, or None if the search found no such model. `nearest` is
    the accumulator model that reproduces the most sums. `with_c` is false if the hardware unit added +0 instead of the
    addend C. `presets` names all accumulator presets that reproduce every sum.
    """

    rows: Rows
    engine: Engine | None
    nearest: Engine
    with_c: bool
    presets: tuple[str, ...]
    evidence: Evidence

    @property
    def differs(self) -> int | None:
        """Return the index of the first sum that the accumulator model `nearest` does not reproduce, or None."""
        return self.evidence.first_difference(self.nearest)


def fit_rows(rows: Rows) -> Explained:
    """Search for an accumulator model that reproduces the measured sums.

    Each model is tried with the measured addend C, and with the addend +0.

    The accumulator presets are tried first. If no model reproduces all sums, the nearest model is returned.
    """
    both = [(with_c, evidence_of(given)) for with_c, given in ((True, rows), (False, rows.without_addend()))]
    for with_c, evidence in both:
        presets = matching_presets(evidence)
        if presets:
            return Explained(rows, ENGINES[presets[0]], ENGINES[presets[0]], with_c, presets, evidence)
    tried = []
    for with_c, evidence in both:
        nearest = fields.named(_searched(evidence))
        explained = evidence.explains(nearest)
        tried.append(Explained(rows, nearest if explained else None, nearest, with_c, (), evidence))
        if explained:
            return tried[-1]
    return max(tried, key=lambda found: (found.evidence.agreement(found.nearest), found.with_c))


def evidence_of(rows: Rows) -> Evidence:
    return Evidence(rows.interface, rows.vectors, rows.results)


def matching_presets(evidence: Evidence) -> tuple[str, ...]:
    first = evidence.first(_FIRST)
    presets = fields.presets(evidence.interface)
    return tuple(preset.name for preset in presets if first.explains(preset) and evidence.explains(preset))


def _searched(evidence: Evidence) -> Engine:
    # The search starts with few sums. If the found model fails for other sums, the search is repeated with more sums.
    starts = fields.presets(evidence.interface)
    size = _FIRST
    while True:
        part = evidence.first(size)
        best = explainer(part, starts)
        if not part.explains(best) or size >= len(evidence) or evidence.explains(best):
            return best
        starts, size = [best, *starts], 2 * size


def open_values(evidence: Evidence, engine: Engine) -> dict[str, list[Any]]:
    """For each field of `engine`, return all other values with which the model still reproduces every measured sum."""
    head, found = evidence.first(_FIRST), {}
    for field in evidence.fields:
        others = [other for other in fields.changed(engine, field, evidence.interface) if head.explains(other)]
        kept = {PARAMETERS[field.name].of(other): None for other in others if evidence.explains(other)}
        if kept:
            found[field.name] = list(kept)
    return found


def said(values: list[Any]) -> str:
    """Write values as text, with consecutive integers as a range such as `2..5`."""
    whole = sorted(value for value in values if isinstance(value, int) and not isinstance(value, bool))
    breaks = [i for i in range(1, len(whole)) if whole[i] != whole[i - 1] + 1]
    runs = [run for run in np.split(np.array(whole, dtype=int), breaks) if run.size]
    words = [str(run[0]) if run.size == 1 else f"{run[0]}..{run[-1]}" for run in runs]
    return ", ".join([*(fields.spelled(value) for value in values if value not in whole or value is False), *words])
