"""Claims about the suites of vectors: what they notice, what they meet, and that their results are right."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fp9.units import Unit
from fp9_sim import functional, mutants, records, recounts
from fp9_sim.campaign.claims import Claim, keep, seconds_of, without_cases
from fp9_sim.records import NO_RECORD

# --- grades -----------------------------------------------------------------------------------------------------------


def _ungraded(kind: mutants.Kind, unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    record, why = mutants.standing(unit, kind, folder, digest)
    if record is None or why:
        return why or NO_RECORD, True
    graded = {suite["suite"]: suite for suite in record["suites"]}
    short = [
        f"{suite} misses {len(graded[suite]['survivors'])}"
        for suite, share in mutants.REQUIRED.items()
        if graded[suite]["rate"] < share
    ]
    return (", ".join(short), False) if short else None


def _grade_record(kind: mutants.Kind, unit: Unit, folder: Path) -> dict[str, Any] | None:
    return mutants.read(folder / kind.folder, unit.name, kind)


def _grade(kind: mutants.Kind, unit: Unit, limit: float) -> mutants.Grade:
    return mutants.grade(unit, kind=kind, timeout=limit, proven=mutants.proven(unit, kind))


def _grading(name: str, kind: mutants.Kind) -> Claim:
    return Claim(
        name,
        f"the suites notice {kind.says}",
        kind.folder,
        functools.partial(_ungraded, kind),
        functools.partial(seconds_of, functools.partial(_grade_record, kind)),
        functools.partial(_grade, kind),
        mutants.keep,
    )


GRADE = _grading("grade", mutants.NETLIST)
LAST = _grading("last", mutants.KINDS["last"])
MAPPED = _grading("mapped", mutants.KINDS["mapped"])
CONSTANTS = _grading("constants", mutants.KINDS["constants"])


# --- recounts, functional coverage ------------------------------------------------------------------------------------


def _of_suites(
    lacks: Callable[[Unit, Path], tuple[str, bool] | None], unit: Unit, folder: Path, digest: str
) -> tuple[str, bool] | None:
    """What is owed where no circuit has a part in the record."""
    return lacks(unit, folder)


RECOUNT = Claim(
    "recount",
    "the results of the vectors, counted again in exact fractions without golden model and kernels",
    records.RECOUNTS,
    functools.partial(_of_suites, recounts.lacks),
    functools.partial(seconds_of, recounts.read),
    functools.partial(without_cases, recounts.recount),
    keep,
)

FUNCTIONAL = Claim(
    "functional",
    "the suites hit every cover point of the specification",
    records.FUNCTIONAL,
    functools.partial(_of_suites, functional.lacks),
    functools.partial(seconds_of, functional.read),
    functools.partial(without_cases, functional.covered),
    keep,
)
