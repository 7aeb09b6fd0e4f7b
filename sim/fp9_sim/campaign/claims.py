"""What a claim about a unit is: what a record owes to it, what that costs, and how the record is made.

A record pays a claim where it is of the circuit that the unit has today and says that the claim holds. One that says
that it does not hold, or that it was not decided within the limit of time that it was given, is a debt that making it
again in the same way does not pay: it is named and left. So is what a campaign cannot make; the reason says what does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.units import CATALOGUE, Unit
from fp9_sim import records


def _catalogue(folder: Path) -> Iterable[Unit]:
    return CATALOGUE.values()


@dataclass(frozen=True)
class Claim:
    """A kind of evidence.

    `lacks` says of a unit, the folder of all records and the digest of its circuit what is owed, None where nothing is,
    and whether making the record pays it. `seconds` is what an earlier record took, None where none says; `left`, where
    a record is made in pieces that are kept, what the others will take. `make` gives the result, in any process, within
    a limit of seconds for one case; `keep` writes its record. Both are None for what is made by processes of its own,
    and for what no campaign makes. `units` are those that it is made of where none are named.
    """

    name: str
    says: str
    folder: str
    lacks: Callable[[Unit, Path, str], tuple[str, bool] | None]
    seconds: Callable[[Unit, Path], float | None]
    make: Callable[[Unit, float], Any] | None = None
    keep: Callable[[Any, Path], Path] | None = None
    left: Callable[[Unit, Path], float | None] | None = None
    units: Callable[[Path], Iterable[Unit]] = _catalogue


def keep(made: Any, folder: Path) -> Path:
    """Write the record of a unit into the folder of its kind."""
    return records.write(folder, made.unit, made.to_dict())


def seconds_of(read: Callable[[Unit, Path], dict[str, Any] | None], unit: Unit, folder: Path) -> float | None:
    """What the record of a unit says that it took."""
    record = read(unit, folder)
    return record.get("seconds") if record else None


def without_cases(make: Callable[[Unit], Any], unit: Unit, limit: float) -> Any:
    """What `make` gives, for a claim that has no cases to limit."""
    return make(unit)
