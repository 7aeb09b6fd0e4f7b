"""What a claim about a unit is: what its record says, what it costs, and how the record is measured.

A record is valid where its claim holds of the circuit that the unit has, or, for a claim about the function, of a
circuit of the same function. A record which says that the claim does not hold, or that it was not decided within its
limit of time, fails: to measure it again in the same way does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from fp9.units import CATALOGUE, Unit
from fp9_sim import records
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD, Circuit


class State(Enum):
    """The state of the record of a claim."""

    VALID = "valid"
    JOINED = "joined by proof"
    STALE = "stale"
    MISSING = "missing"
    FAILS = "fails"


class Finding(NamedTuple):
    """The state of a record and the reason in words, empty where there is nothing to say."""

    state: State
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim holds of the unit's circuit."""
        return self.state in (State.VALID, State.JOINED)


Fields = records.Fields


def _catalogue() -> Iterable[Unit]:
    return CATALOGUE.values()


@dataclass(frozen=True)
class Claim:
    """A kind of evidence.

    `judge` says what the record of a unit's circuit shows: None where the claim holds, else a finding. `make` gives the
    result, in any process, within a limit of seconds for one case, and `keep` writes its record; both are None for
    sweeps, which are made by processes of their own. `left` are the seconds that are missing where a record is made in
    pieces that are cached. `units` are those that it is made of where none are named.
    """

    name: str
    says: str
    judge: Callable[[Unit, Path, Fields, Circuit], Finding | None]
    make: Callable[[Unit, float], Any] | None = None
    keep: Callable[[Any, Path], Path] | None = None
    left: Callable[[Unit, Path], float | None] | None = None
    units: Callable[[], Iterable[Unit]] = _catalogue

    @property
    def about(self) -> str:
        """What of a circuit the claim is about: its function or its form."""
        return "function" if self.name in records.OF_FUNCTION else "form"

    def finding(self, unit: Unit, folder: Path, circuit: Circuit) -> Finding:
        """What the record in the folder of all records says. Raises ValueError for a file that is no record."""
        fields = records.read(folder, self.name, unit.name)
        if fields is None:
            return Finding(State.MISSING, NO_RECORD)
        forms = circuit.forms if self.about == "function" else {circuit.form}
        if fields["circuit_sha256"] not in forms or fields["spec"] != unit.describe():
            return Finding(State.STALE, EARLIER_CIRCUIT)
        judged = self.judge(unit, folder, fields, circuit)
        if judged is not None:
            return judged
        same = fields["circuit_sha256"] == circuit.form
        return Finding(State.VALID) if same else Finding(State.JOINED, circuit.joined.value)


def keep(claim: str, made: Any, folder: Path) -> Path:
    """Write what was made for a claim into the folder of all records."""
    fields = made.to_dict()
    if fields.get("seconds") is None:
        fields["seconds"] = round(sum(part["seconds"] for part in fields["claims"]), 1)
    return records.write(folder, claim, fields)
