"""List the checks of a design, each with the exercised property, the tool and the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fp9.system.missing import MissingTool
from fp9.units import Handshake, Unit
from fp9_sim import proofs
from fp9_sim.bench.exchange import End, Plan
from fp9_sim.proofs import ProofRecord
from fp9_sim.regression.run import Regression


class State(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"
    """The check was requested, but did not run or reached no verdict, so the design does not pass."""
    NOT_ASKED = "-"
    """The check was not requested, or the design has nothing to check."""


@dataclass(frozen=True)
class Check:
    """A check of a design by one tool. `exercised` says what the check ran, or why the check did not run."""

    name: str
    tool: str
    exercised: str
    state: State
    seconds: float = 0.0
    findings: tuple[str, ...] = ()


def passed(checks: Sequence[Check]) -> bool:
    """Return True if at least one check passed, and no requested check failed or stayed undecided."""
    states = {check.state for check in checks}
    return State.PASSED in states and not states & {State.FAILED, State.NOT_RUN}


_PROTOCOL: tuple[tuple[str, Callable[[Plan], bool]], ...] = (
    ("latency, order, one operation a clock", lambda plan: not plan.stalls),
    ("back-pressure until every stage is full", lambda plan: plan.end == End.BLOCKED),
    ("stalls on both sides", lambda plan: plan.stalls),
    ("resets of one clock", lambda plan: plan.reset_clocks == 1),
    ("resets of two to four clocks", lambda plan: plan.reset_clocks > 1),
)


def checks_of(unit: Unit, run: Regression) -> list[Check]:
    """Return the checks of a simulation: result values, unknown bits (x) in results, and handshake properties."""
    state = State.PASSED if not run.total_mismatches else State.FAILED
    found = tuple(str(mismatch) for mismatch in run.mismatches)
    values = Check("values", run.simulator, f"{run.checked:,} operations", state, run.seconds, found)
    if not run.compared:
        values = Check("values", run.simulator, "a violation ended the run", State.NOT_RUN, run.seconds)
    return [values, _unknown_bits(run, values), *protocol_checks(unit, run)]


def _unknown_bits(run: Regression, values: Check) -> Check:
    name = "unknown bits (x) of results"
    if run.simulator != "icarus":
        return Check(name, run.simulator, "no x; registers start at random values", State.NOT_ASKED)
    if not run.compared:
        return Check(name, run.simulator, values.exercised, State.NOT_RUN)
    return Check(name, run.simulator, values.exercised, State.FAILED if run.answers.unknown else State.PASSED)


def protocol_checks(unit: Unit, run: Regression) -> list[Check]:
    """Return the handshake checks of a unit with pipeline stages. A combinational unit has no handshake checks."""
    if not unit.stages:
        return []
    checks = [_property(name, of, run) for name, of in _PROTOCOL]
    if unit.extra_clocks:
        checks[0] = replace(checks[0], name="order, and operations that take several clocks")
    if unit.handshake is Handshake.VALID:
        checks[1] = Check(_PROTOCOL[1][0], run.simulator, "the unit has no ready", State.NOT_ASKED)
    if unit.enable:
        checks.append(_property("pauses by enable", lambda plan: plan.stalls, run))
    if unit.flush:
        checks.append(_property("flush in mid-stream", lambda plan: plan.by_flush, run))
    return checks


def _property(name: str, of: Callable[[Plan], bool], run: Regression) -> Check:
    done = [plan for plan in run.passes if of(plan)]
    said = f"{sum(plan.count for plan in done):,} operations, after resets {', '.join(plan.after for plan in done)}"
    if run.broken is not None and of(run.broken):
        return Check(name, run.simulator, f"reset {run.broken.after}", State.FAILED, findings=run.violations)
    if not done:
        return Check(name, run.simulator, "an earlier violation ended the run", State.NOT_RUN)
    return Check(name, run.simulator, said, State.PASSED)


def proof_checks(
    unit: Unit, verilog: str | None, seconds: float | None, sound: bool, *, values_only: bool = False
) -> tuple[list[Check], ProofRecord | None]:
    """Try to prove a design within `seconds`. Return one check for each claim, and the proof record.

    `sound` says whether the simulation of the design passed. No proof is attempted for a design that failed in
    simulation.
    """
    if seconds is None:
        return [Check("proof for all inputs", "proof", "not asked: --prove SECONDS", State.NOT_ASKED)], None
    if not sound:
        return [Check("proof for all inputs", "proof", "the simulation failed", State.NOT_RUN)], None
    started = time.perf_counter()
    try:
        record = proofs.prove(unit, verilog, timeout=seconds, budget=seconds, values_only=values_only)
    except (ValueError, MissingTool) as error:
        spent = time.perf_counter() - started
        return [Check("proof for all inputs", "proof", "no verdict", State.NOT_RUN, spent, (str(error),))], None
    return [_claim_check(record, claim) for claim in record.claims], record


def _claim_check(record: ProofRecord, claim: proofs.ClaimRecord) -> Check:
    proven = sum(case.state == "proven" for case in claim.cases)
    states = {"proven": State.PASSED, "refuted": State.FAILED}
    refuted = tuple(
        f"{record.unit}, {case.name}: refuted by {proofs.counterexample_text(case.counterexample)}"
        for case in claim.cases
        if case.counterexample
    )
    exercised = f"{proven} of {len(claim.cases)} cases for all inputs"
    return Check(
        f"proof: {claim.name}", "proof", exercised, states.get(claim.state, State.NOT_RUN), claim.seconds, refuted
    )
