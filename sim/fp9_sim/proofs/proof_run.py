"""Run all proofs about a unit's Verilog and return their record.

A control is a proof case whose specification contains one deliberate error. The proof of a claim is valid only if the
solver refutes every control of the claim, and otherwise void.
"""

from __future__ import annotations

import hashlib
import math
import time
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
"""Default time limit of one proof case, in seconds."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CaseRecord:
    """The outcome of a proof case. `seconds` is the solver time in seconds, summed over all attempts.

    `control_refuted` states whether the solver refuted the control, a deliberately wrong specification. If the proof
    case has no control, `control_refuted` is None.
    """

    name: str
    state: str
    seconds: float
    control_refuted: bool | None
    counterexample: dict[str, Any] | None


@dataclass(frozen=True)
class ClaimRecord:
    """A claim about a unit, with the outcomes of its proof cases.

    `state` is the worst state among the proof cases: "refuted" is worse than "not finished", and "proven" is the best
    state. `state` is "void" if the solver failed to refute a deliberately wrong specification (a control).
    """

    name: str
    proves: str
    assumes: tuple[str, ...]
    state: str
    seconds: float
    cases: tuple[CaseRecord, ...]


@dataclass(frozen=True)
class ProofRecord:
    """All proofs about one Verilog text. `circuit_sha256` is None for Verilog that fp9 did not generate."""

    unit: str
    spec: tuple[str, ...]
    verilog_sha256: str
    circuit_sha256: str | None
    claims: tuple[ClaimRecord, ...]
    complaints: tuple[str, ...]
    provenance: dict[str, str]

    @property
    def proven(self) -> bool:
        return all(claim.state == State.PROVEN.value for claim in self.claims)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"proven": self.proven}


def prove(
    unit: Unit,
    verilog: str | None = None,
    *,
    timeout: float = CASE_SECONDS,
    budget: float = math.inf,
    values_only: bool = False,
    jobs: int = 2,
    progress: Progress | None = None,
) -> ProofRecord:
    """Prove or refute every claim about a unit's Verilog.

    `verilog` replaces the Verilog that fp9 generates for the unit. `timeout` is the time limit of a proof case in
    seconds. After `budget` seconds, no further proof case starts, and the remaining proof cases are recorded as
    unfinished. If `values_only` is true, claims about sequences of clock cycles are omitted. `jobs` is the number of
    solvers that run in parallel. Cached verdicts are reused, except inside the context manager
    `fp9.system.cache.recomputing`.

    Raises ValueError for a unit without claims and for unreadable Verilog. Raises MissingTool if Yosys is not
    installed.
    """
    claims = [claim for claim in claims_of(unit) if not (values_only and claim.name in CLOCKED)]
    deadline = time.monotonic() + budget
    text = fp9_rtl.verilog(unit) if verilog is None else verilog
    kept = journal(unit, text)
    records: dict[str, list[CaseRecord]] = {claim.name: [] for claim in claims}
    with ThreadPoolExecutor(jobs) as pool:
        ends = [
            (claim, pool.submit(_in_time, deadline, timeout, unit, claim, case, text, kept))
            for claim in sorted(claims, key=lambda claim: len(claim.cases))
            for case in claim.cases
        ]
        try:
            for done, (claim, end) in enumerate(ends, start=1):
                records[claim.name].append(end.result())
                if progress:
                    progress(f"{unit.name}: {records[claim.name][-1].name}", done, len(ends))
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


def _in_time(
    deadline: float, timeout: float, unit: Unit, claim: Claim, case: Case, verilog: str, kept: Journal
) -> CaseRecord:
    left = (deadline - time.monotonic()) / (1 if case.control is None else 2)
    if left <= 0:
        return CaseRecord(case.name, State.UNFINISHED.value, 0.0, None, None)
    return decided(unit, claim, case, verilog, min(timeout, left), kept)


def decided(
    unit: Unit, claim: Claim, case: Case, verilog: str, timeout: float, kept: Journal | None = None
) -> CaseRecord:
    """Try to prove one case of a claim, and try to refute a deliberately wrong specification of the case.

    `case.control` is a copy of the specification `case.specification` with one deliberate error. The time limit of the
    proof and the time limit of the refutation are `timeout` seconds each.
    """

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
    if isinstance(case, PartCase):
        return {"inputs": {name: f"0x{value:x}" for name, value in verdict.counterexample.items()}, "outputs": {}}
    if claim.name not in CLOCKED and unit.group == 1:
        return explain(unit, case, verdict.counterexample)
    names = ["rst", *HANDSHAKE, *(port.name for port in unit.inputs)]
    return {"inputs": {name: f"0x{verdict.counterexample.get(name, 0):x}" for name in names}, "outputs": {}}


def explain(unit: Unit, case: Case, ports: Mapping[str, int]) -> dict[str, Any]:
    """Return a counterexample as text, with the golden model's outputs beside the outputs of the RTL."""
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


def counterexample_text(found: Mapping[str, Any]) -> str:
    """Return a counterexample as one line: the inputs, then the outputs of the RTL and of the golden model."""
    inputs = ", ".join(f"{name} = {text}" for name, text in found["inputs"].items())
    outputs = ", ".join(f"{name} {both['rtl']}, model {both['model']}" for name, both in found["outputs"].items())
    return f"{inputs}: {outputs}"


def _meaning(unit: Unit, name: str, inputs: Mapping[str, int]) -> float | str | None:
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
