"""What is left of a proof, in seconds: its cases without an end in the journal, by the times of cases like them."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import fp9_rtl
from fp9.units import Unit
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs.claims import claims_of
from fp9_sim.proofs.journal import journal

_NAMES = re.compile(r"\w*\d\w*(\([^)]*\))?")
"""Words with a digit: formats and lanes."""


def seconds_left(unit: Unit, records: Iterable[tuple[str, Mapping[str, Any]]]) -> float | None:
    """The seconds that a unit's cases will take, those apart that its journal has an end of; None where nothing says.

    A case takes the mean of the cases of its claim that have its name but for formats and lanes, else of all of its
    claim: in the journal and in `records`, each with the kind of its unit, of which that of `unit` comes first.

    Raises ValueError for a unit about which there are no claims.
    """
    ended = _ended(unit)
    known: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for claim, name in ended:
        _note(known, unit.kind, claim, name, ended[claim, name])
    for kind, record in records:
        for of in record["claims"]:
            for case in of["cases"]:
                _note(known, kind, of["name"], case["name"], case["seconds"])
    total = 0.0
    for of_unit in claims_of(unit):
        for case in of_unit.cases:
            if (of_unit.name, case.name) not in ended:
                places = _places(unit.kind, of_unit.name, case.name)
                times = next((known[place] for place in places if place in known), None)
                if times is None:
                    return None
                total += statistics.fmean(times)
    return total


def _ended(unit: Unit) -> dict[tuple[str, str], float]:
    """The seconds of the cases that have ended, by claim and name."""
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for kept in journal(unit, fp9_rtl.verilog(unit)).kept.values():
        if kept.verdict.state is not State.UNFINISHED:
            spent[kept.part.claim, kept.part.case] += kept.verdict.seconds
    return spent


def _note(known: dict[tuple[str, ...], list[float]], kind: str, claim: str, name: str, seconds: float) -> None:
    for place in _places(kind, claim, name):
        known[place].append(seconds)


def _places(kind: str, claim: str, name: str) -> tuple[tuple[str, ...], ...]:
    """Where the time of a case stands, the most alike first."""
    like = _NAMES.sub("*", name)
    return (kind, claim, like), (kind, claim), (claim, like)
