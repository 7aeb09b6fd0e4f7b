"""Estimate how much time a proof still needs, from the solver times of similar cases."""

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


def seconds_left(unit: Unit, records: Iterable[tuple[str, Mapping[str, Any]]]) -> float | None:
    """Return the estimated solver time for a unit's undecided proof cases in seconds, or None.

    The estimate for a proof case is the mean solver time of other cases of the same claim. The estimate uses the first
    of the following groups that is not empty:

    - cases of the same kind of unit, with names that differ only in formats and lanes
    - all cases of the same kind of unit
    - cases of other kinds of units, with names that differ only in formats and lanes

    If an undecided case has no comparable case with a known solver time, the function returns None. `records` holds
    pairs: a kind of unit, and a proof record. Raises ValueError for a unit without claims.
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
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for kept in journal(unit, fp9_rtl.verilog(unit)).kept.values():
        if kept.verdict.state is not State.UNFINISHED:
            spent[kept.part.claim, kept.part.case] += kept.verdict.seconds
    return spent


def _note(known: dict[tuple[str, ...], list[float]], kind: str, claim: str, name: str, seconds: float) -> None:
    for place in _places(kind, claim, name):
        known[place].append(seconds)


def _places(kind: str, claim: str, name: str) -> tuple[tuple[str, ...], ...]:
    like = _NAMES.sub("*", name)
    return (kind, claim, like), (kind, claim), (claim, like)
