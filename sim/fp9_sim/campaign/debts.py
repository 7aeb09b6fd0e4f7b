"""What units owe by the records that are there."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.units import Unit
from fp9_sim.campaign.catalogue import CLAIMS
from fp9_sim.campaign.claims import Claim
from fp9_sim.records import NO_RECORD


@dataclass(frozen=True)
class Debt:
    """What a unit owes: the claim, why, whether making its record pays it, and the seconds that this may take.

    `seconds` is what is left by the pieces that are kept, where the claim says so, else that of the unit's earlier
    record, else the median of the records of its kind; where there are none, by what the unit took of other claims, and
    how much longer this one takes of units that have both, else the median of all. None where no record says.
    """

    unit: Unit
    claim: Claim
    why: str
    payable: bool
    seconds: float | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "unit": self.unit.name,
            "claim": self.claim.name,
            "why": self.why,
            "payable": self.payable,
            "seconds": self.seconds,
        }


def owed(
    units: Iterable[Unit] | None,
    folder: Path,
    claims: Sequence[Claim] | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> list[Debt]:
    """Everything that units owe by the records in `folder`, the most valuable first; without units those of each claim.

    That is what was never shown, before what was shown of an earlier circuit or suite, before what cannot be paid; in
    each the cheapest first, as it pays most in an hour. Raises ValueError for a file that is no record, and for a spec
    without hardware.
    """
    every = list(CLAIMS if claims is None else claims)
    asked: dict[Unit, list[Claim]] = {}
    named = None if units is None else list(units)
    for claim in every:
        for unit in claim.units(folder) if named is None else named:
            asked.setdefault(unit, []).append(claim)
    known = {c.name: _known(c, asked, folder) for c in dict.fromkeys((*CLAIMS, *every))}
    debts = []
    for done, (unit, of_unit) in enumerate(asked.items()):
        progress(unit.name, done, len(asked))
        digest = fp9_rtl.circuit_digest(unit)
        for claim in of_unit:
            found = claim.lacks(unit, folder, digest)
            if found:
                left = claim.left(unit, folder) if claim.left else None
                seconds = _estimate(unit, claim.name, known) if left is None else left
                debts.append(Debt(unit, claim, *found, seconds))
    return sorted(debts, key=_rank)


def _rank(debt: Debt) -> tuple[bool, bool, float]:
    return (not debt.payable, debt.why != NO_RECORD, float("inf") if debt.seconds is None else debt.seconds)


def _known(claim: Claim, units: Iterable[Unit], folder: Path) -> dict[Unit, float]:
    """What the records of units took, of those that say so."""
    seconds = {unit: claim.seconds(unit, folder) for unit in units}
    return {unit: found for unit, found in seconds.items() if found is not None}


def _estimate(unit: Unit, claim: str, known: Mapping[str, Mapping[Unit, float]]) -> float | None:
    own = known[claim]
    if unit in own:
        return own[unit]
    alike = [seconds for other, seconds in own.items() if other.kind == unit.kind]
    by_others = [took[unit] * ratio for took in known.values() if unit in took and (ratio := _ratio(own, took))]
    likely = alike or by_others or list(own.values())
    return statistics.median(likely) if likely else None


def _ratio(own: Mapping[Unit, float], other: Mapping[Unit, float]) -> float | None:
    """How much longer a claim takes than another one of units that have both, in the median."""
    both = [seconds / other[unit] for unit, seconds in own.items() if other.get(unit)]
    return statistics.median(both) if both else None
