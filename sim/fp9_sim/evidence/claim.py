"""A claim about a unit: how its record is judged, estimated and measured.

A record is valid if its claim holds for the unit's circuit. A claim about the function is also valid for a circuit
with
the same function. A record fails if it shows that the claim does not hold, or that it was not decided within its
time
limit. Another measurement in the same way does not help then.
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
    """The state of a claim's record."""

    VALID = "valid"
    JOINED = "joined by proof"
    STALE = "stale"
    MISSING = "missing"
    FAILS = "fails"


class Finding(NamedTuple):
    """The state of a record and its reason. The reason may be empty."""

    state: State
    why: str = ""

    @property
    def holds(self) -> bool:
        """Return whether the claim holds for the unit's circuit."""
        return self.state in (State.VALID, State.JOINED)


Fields = records.Fields


def _catalogue() -> Iterable[Unit]:
    return CATALOGUE.values()


@dataclass(frozen=True)
class Claim:
    """A kind of evidence.

    `judge` reads the record of a unit's circuit and returns None if the claim holds, else a finding. `make`
    measures the
    result, in any process, with a limit of seconds for one case. `keep` writes the record. Both are None for
    sweeps, which use
    processes of their own. `left` returns the remaining seconds of a record that is made in cached pieces. `units`
    returns the
    units that are measured by default.
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
        """Return what the claim is about: the circuit's function or its form."""
        return "function" if self.name in records.OF_FUNCTION else "form"

    def finding(self, unit: Unit, folder: Path, circuit: Circuit) -> Finding:
        """Return the state of the record in the records' folder. Raises ValueError for a file that is no record."""
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
    """Write the result of a claim into the records' folder."""
    fields = made.to_dict()
    if fields.get("seconds") is None:
        fields["seconds"] = round(sum(part["seconds"] for part in fields["claims"]), 1)
    return records.write(folder, claim, fields)
