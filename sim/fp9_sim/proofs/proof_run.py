"""Proofs about a unit's Verilog: `prove` decides every case of every claim and gives a record of it.

A case is proven, refuted with a counterexample, or not finished within its time limit; nothing is claimed for the last.
Controls are cases with one deliberate error in the specification. One that is not refuted makes its claim void. Each
verdict is kept in a journal as it comes, from which a proof that was stopped goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import fp9_rtl
from fp9.golden import evaluate
from fp9.units import HANDSHAKE, Unit
from fp9.vectors.sets import port_dtype
from fp9_sim.netlists.solvers.solver import State, Verdict
from fp9_sim.proofs.claims import CLOCKED, Claim, claims_of
from fp9_sim.proofs.journal import Journal, Part, journal
from fp9_sim.proofs.miter import Case
from fp9_sim.proofs.parts import PartCase
from fp9_sim.provenance import provenance

CASE_SECONDS = 120.0
"""Time limit of one case."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CaseRecord:
    """How a case ended; `control_refuted` is None where it has no control, `seconds` are all that were spent on it."""

    name: str
    state: str
    seconds: float
    control_refuted: bool | None
    counterexample: dict[str, Any] | None


@dataclass(frozen=True)
class ClaimRecord:
    """A claim and how its cases ended: `state` is the worst of theirs, "void" where a control was not refuted."""

    name: str
    proves: str
    assumes: tuple[str, ...]
    state: str
    seconds: float
    cases: tuple[CaseRecord, ...]


@dataclass(frozen=True)
class ProofRecord:
    """Everything that was proven of one Verilog text; `circuit_sha256` is None for a text from elsewhere.

    `complaints` are sentences about the journal: what of it is damaged and does not count.
    """

    unit: str
    spec: tuple[str, ...]
    verilog_sha256: str
    circuit_sha256: str | None
    claims: tuple[ClaimRecord, ...]
    complaints: tuple[str, ...]
    provenance: dict[str, str]

    @property
    def proven(self) -> bool:
        """Whether every case of every claim was proven."""
        return all(claim.state == State.PROVEN.value for claim in self.claims)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"proven": self.proven}


def prove(
    unit: Unit,
    verilog: str | None = None,
    *,
    timeout: float = CASE_SECONDS,
    jobs: int = 2,
    progress: Progress | None = None,
) -> ProofRecord:
    """Decide every claim about `unit`, for the given Verilog or the one generated for it.

    `timeout` is a case's limit in seconds, `jobs` the solvers that run at once. What the journal in the cache says is
    taken from there, except within `fp9.system.cache.recomputing`; what did not end within a shorter limit is tried
    again.

    Raises ValueError for a unit about which there are no claims and for Verilog that cannot be read, MissingTool where
    Yosys is not installed.
    """
    claims = claims_of(unit)
    text = fp9_rtl.verilog(unit) if verilog is None else verilog
    total = sum(len(claim.cases) for claim in claims)
    records: dict[str, list[CaseRecord]] = {claim.name: [] for claim in claims}
    kept = journal(unit, text)
    with ThreadPoolExecutor(jobs) as pool:
        ends = [
            (claim, pool.submit(decided, unit, claim, case, text, timeout, kept))
            for claim in claims
            for case in claim.cases
        ]
        try:
            for done, (claim, end) in enumerate(ends, start=1):
                records[claim.name].append(end.result())
                if progress:
                    progress(f"{unit.name}: {records[claim.name][-1].name}", done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return ProofRecord(
        unit.name,
        tuple(unit.describe()),
        hashlib.sha256(text.encode()).hexdigest(),
        fp9_rtl.circuit_digest(unit) if verilog is None else None,
        tuple(_summary(claim, tuple(records[claim.name])) for claim in claims),
        tuple(kept.complaints),
        provenance() | kept.tools,
    )


def decided(
    unit: Unit, claim: Claim, case: Case, verilog: str, timeout: float, kept: Journal | None = None
) -> CaseRecord:
    """A case of a claim about a unit's Verilog, decided within `timeout` seconds, and its control; with a journal, what
    it says is not decided again."""

    def ended(specification: str, *, control: bool) -> Verdict:
        obligation = claim.oblige(verilog, case, specification)
        if kept is None:
            return obligation.decide(timeout)
        return kept.decide(obligation, Part(claim.name, case.name, control), timeout)

    verdict = ended(case.specification, control=False)
    control = None if case.control is None else ended(case.control, control=True)
    return CaseRecord(
        case.name,
        verdict.state.value,
        round(verdict.seconds + (control.seconds if control else 0), 3),
        None if control is None else control.state is State.REFUTED,
        _explained(unit, claim, case, verdict) if verdict.state is State.REFUTED else None,
    )


def _summary(claim: Claim, cases: tuple[CaseRecord, ...]) -> ClaimRecord:
    states = {case.state for case in cases}
    worst = next(s.value for s in (State.REFUTED, State.UNFINISHED, State.PROVEN) if s.value in states)
    void = any(case.control_refuted is False for case in cases)
    seconds = round(sum(case.seconds for case in cases), 3)
    return ClaimRecord(claim.name, claim.proves, claim.assumes, "void" if void else worst, seconds, cases)


def _explained(unit: Unit, claim: Claim, case: Case, verdict: Verdict) -> dict[str, Any]:
    """The counterexample; where no model of one operation answers, the last clock's ports alone; of a part its nets."""
    if isinstance(case, PartCase):
        return {"inputs": {name: f"0x{value:x}" for name, value in verdict.counterexample.items()}, "outputs": {}}
    if claim.name not in CLOCKED and unit.group == 1:
        return explain(unit, case, verdict.counterexample)
    names = ["rst", *HANDSHAKE, *(port.name for port in unit.inputs)]
    return {"inputs": {name: f"0x{verdict.counterexample.get(name, 0):x}" for name in names}, "outputs": {}}


def explain(unit: Unit, case: Case, ports: Mapping[str, int]) -> dict[str, Any]:
    """A counterexample as texts: each input in hex and decimal, each output that was read beside the golden model's."""
    inputs = {port.name: ports.get(port.name, case.fixed.get(port.name, 0)) for port in unit.inputs}
    columns = {port.name: np.array([inputs[port.name]], dtype=port_dtype(port)) for port in unit.inputs}
    expected = evaluate(unit, columns)
    numbers = {
        port.name: _text(port.width, inputs[port.name], _meaning(unit, port.name, inputs)) for port in unit.inputs
    }
    outputs = {
        port.name: {
            "rtl": _text(port.width, ports[port.name]),
            "model": _text(port.width, int(expected[port.name][0])),
        }
        for port in unit.outputs
        if port.name in ports
    }
    return {"inputs": numbers, "outputs": outputs}


def _meaning(unit: Unit, name: str, inputs: Mapping[str, int]) -> float | str | None:
    """The number that a code on a port stands for, or the choice that a select port makes."""
    port = next(port for port in unit.inputs if port.name == name)
    if port.choices:
        return port.choices[min(inputs[name], len(port.choices) - 1)]
    if not port.formats:
        return None
    chosen = min(inputs[port.select], len(port.formats) - 1) if port.select else 0
    return port.formats[chosen].to_float(inputs[name])


def _text(width: int, value: int, meaning: float | str | None = None) -> str:
    text = f"0x{value:0{(width + 3) // 4}x}"
    return text if meaning is None else f"{text} ({meaning})"
