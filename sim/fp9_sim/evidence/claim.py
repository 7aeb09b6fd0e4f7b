"""A claim about a unit: how its record is judged, how its cost is estimated, and how it is measured.

A record is valid if its claim holds for the unit's circuit. A claim about the function is also valid for a
circuit with the same function. A record has the state "fails" if it shows that the claim is false. The
state is the same if the claim was not decided within its time limit. A second measurement in the same way
gives the same state.
"""

from __future__ import annotations

from collections.abc import Callable
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
    """The state of a record and the reason for it. The reason may be empty."""

    state: State
    why: str = ""

    @property
    def holds(self) -> bool:
        """Return whether the claim holds for the unit's circuit."""
        return self.state in (State.VALID, State.JOINED)


Fields = records.Fields


def in_catalogue(unit: Unit) -> bool:
    return unit in CATALOGUE.values()


@dataclass(frozen=True)
class Claim:
    """A kind of evidence about units, such as sweeps, proofs or areas.

    `judge` reads the record of a unit's circuit. `judge` returns None if the claim holds, else a finding.
    `make` measures the result in any process. The second argument of `make` is the time limit of one case, in
    seconds. `keep` writes the record. `make` and `keep` are None for sweeps, which start their own processes.
    `left` returns the remaining seconds of a measurement whose finished steps are cached. `measures` tells
    whether a unit of the catalogue or of the energy study has this kind of evidence.
    """

    name: str
    says: str
    judge: Callable[[Unit, Path, Fields, Circuit], Finding | None]
    make: Callable[[Unit, float], Any] | None = None
    keep: Callable[[Any, Path], Path] | None = None
    left: Callable[[Unit, Path], float | None] | None = None
    measures: Callable[[Unit], bool] = in_catalogue

    @property
    def about(self) -> str:
        """Return whether the claim is about the circuit's function or about its form."""
        return "function" if self.name in records.OF_FUNCTION else "form"

    def finding(self, unit: Unit, folder: Path, circuit: Circuit) -> Finding:
        """Return the state of a unit's record in `folder`. Raises ValueError if the file is no record."""
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
    """Write a measured result into the records' folder, as the record of the claim with this name."""
    fields = made.to_dict()
    if fields.get("seconds") is None:
        fields["seconds"] = round(sum(part["seconds"] for part in fields["claims"]), 1)
    return records.write(folder, claim, fields)
