"""Define claims about hardware units, with functions that measure and judge a claim.

A claim about a circuit's function also holds for every circuit that is proven equivalent to the recorded circuit.
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
    """State of the record of a claim."""

    VALID = "valid"
    JOINED = "joined by proof"
    STALE = "stale"
    MISSING = "missing"
    FAILS = "fails"


class Finding(NamedTuple):
    """State of a record, such as stale or missing, and the reason for this state (may be an empty string)."""

    state: State
    why: str = ""

    @property
    def holds(self) -> bool:
        """Return whether the claim holds for the unit's present circuit."""
        return self.state in (State.VALID, State.JOINED)


Fields = records.Fields


def in_catalogue(unit: Unit) -> bool:
    return unit in CATALOGUE.values()


@dataclass(frozen=True)
class Claim:
    """Kind of evidence about hardware units, such as sweeps, proofs or areas.

    `judge` returns None if a unit's record supports the claim. If the record does not support the claim, `judge`
    returns a `Finding` that states why. `make(unit, limit)` measures a unit, for example the unit's area, and can run
    in a worker process. `limit` is the time limit in seconds for each case of a proof. `keep` writes the measurement as
    a record. For sweeps, `make` and `keep` are None, because a sweep starts its own worker processes and writes its own
    record. `left` returns the estimated remaining time of an interrupted measurement in seconds.
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
        """Return "function" for a claim about a circuit's function, or "form" for a claim about a netlist."""
        return "function" if self.name in records.OF_FUNCTION else "form"

    def finding(self, unit: Unit, folder: Path, circuit: Circuit) -> Finding:
        """Return the state of a unit's record in `folder`. Raises ValueError for an invalid record."""
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
    """Write a measurement as the record of the named claim, and return the path of the record."""
    fields = made.to_dict()
    if fields.get("seconds") is None:
        fields["seconds"] = round(sum(part["seconds"] for part in fields["claims"]), 1)
    return records.write(folder, claim, fields)
