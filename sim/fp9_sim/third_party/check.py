"""Check third-party RTL against a unit specification, and explain the mismatches."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fp9.suites import FULL_LIMIT
from fp9.units import Columns, Results
from fp9.vectors.sets import VectorSet
from fp9_compare.diagnosis import Explained, Explanation, explain
from fp9_compare.diagnosis.classes import equal_up_to_nan, results_of
from fp9_sim.batch.unit import verilated
from fp9_sim.bench.scoreboard import Answers, Mismatch, mismatch, mismatches
from fp9_sim.regression import Check, State, protocol_checks, regress
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import DEFAULT_FOLDER
from fp9_sim.simulators.find import TooFewResults
from fp9_sim.third_party.clocks import MOST_CLOCKS
from fp9_sim.third_party.mapping import Design
from fp9_sim.third_party.protocol import Protocol, hinted, protocol
from fp9_sim.third_party.suites import operations
from fp9_sim.third_party.wrapper import wrapped

SHOWN = 5

NOTHING = Explained((), 0, 0)


@dataclass(frozen=True)
class Verdict:
    """Result of a check of third-party RTL: the number of operations, the mismatches, and their explanations.

    `mismatches` holds the first unexplained mismatches, or the first mismatches if all mismatches are explained.
    `latency` is the number of clock cycles from operands to result, or None if only the handshake tells when a result
    comes. `protocol` is the result of a second simulation with stalls and resets, or None.
    """

    top: str
    simulator: str
    latency: int | None
    checked: int
    total_mismatches: int
    mismatches: tuple[Mismatch, ...]
    explained: Explained = NOTHING
    violations: tuple[str, ...] = ()
    protocol: Protocol | None = None
    checks: tuple[Check, ...] = ()

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        return self.explained.explanations

    @property
    def passed(self) -> bool:
        """Return whether every operation gave the expected result and the DUT obeyed the handshake."""
        return not self.total_mismatches and not self.violations


def check_rtl(
    design: Design,
    simulator: str = "verilator",
    *,
    count: int = 20_000,
    seed: int = 0,
    build_dir: Path | str = DEFAULT_FOLDER,
) -> Verdict:
    """Simulate test operations with a third-party DUT and return the verdict.

    For a stateless unit with few possible operations, the simulator runs every operation. A unit with state or with
    many possible operations runs `count` random operations and a test suite. Verilator runs the corner suite, and
    Icarus, which is slower, runs the smaller smoke suite. A clocked DUT is also simulated with stalls and resets.
    Messages that the DUT prints go to standard error. Raises SimulatorError if the simulator rejects the DUT, and
    MissingTool if the simulator is not installed. Raises ValueError for an unknown simulator, and for ports that differ
    from the mapping.
    """
    started = time.perf_counter()
    found = tools.find(simulator)
    suite, few = ("corner", FULL_LIMIT) if found.name == "verilator" else ("smoke", max(count, _FEW))
    made = operations(design, suite, count, seed, few)
    try:
        latency = _found_latency(design, made) if design.latency is None else design.latency
        text = wrapped(design, latency)
        run = _at_full_rate if found.name == "verilator" else _on_icarus
        answers, violations, again, clocked = run(design, text, latency, made, seed, Path(build_dir))
    except TooFewResults as error:
        said = hinted(design, str(error).replace(design.spec.name, design.top))
        stuck = Check("values", found.name, "the design gave too few results", State.FAILED, findings=(said,))
        return Verdict(design.top, found.name, None, 0, 0, (), NOTHING, (said,), checks=(stuck,))
    told = None if design.latency_from_handshake else latency
    seconds = time.perf_counter() - started
    if answers is None:
        ended = Check("values", found.name, "a violation ended the run", State.NOT_RUN, seconds)
        return Verdict(design.top, found.name, told, 0, 0, (), NOTHING, violations, checks=(ended, *clocked))
    first, total, explained = _differences(design, made, answers, sound=not violations)
    shown = tuple(str(each) for each in first)
    state = State.FAILED if total else State.PASSED
    values = Check("values", found.name, f"{len(made):,} operations", state, seconds, shown)
    checks = (values, *clocked)
    return Verdict(design.top, found.name, told, len(made), total, tuple(first), explained, violations, again, checks)


def _differences(
    design: Design, made: VectorSet, answers: Answers, *, sound: bool
) -> tuple[list[Mismatch], int, Explained]:
    accepted = _accepted(design, made, answers)
    first, total = mismatches(made, accepted, SHOWN)
    if not total or not sound:
        return first, total, NOTHING
    explained = explain(made, accepted.values, any_nan=design.any_nan, flag_bits=design.flag_bits)
    return [mismatch(made, accepted, index) for index in explained.first_unexplained] or first, total, explained


_Ran = tuple[Answers | None, tuple[str, ...], Protocol | None, tuple[Check, ...]]


def _at_full_rate(design: Design, text: str, latency: int, made: VectorSet, seed: int, build_dir: Path) -> _Ran:
    answers = Answers(_run(design, text, made.inputs), {})
    if not design.spec.stages:
        return answers, (), None, ()
    again = protocol(design, text, latency, made, answers, seed, build_dir)
    return answers, again.violations, again, again.checks


def _on_icarus(design: Design, text: str, latency: int, made: VectorSet, seed: int, build_dir: Path) -> _Ran:
    run = regress(
        design.spec,
        made,
        "icarus",
        seed=seed,
        verilog=text,
        build_dir=build_dir,
        latency=latency,
        elastic=design.latency_from_handshake,
    )
    violations = tuple(hinted(design, said) for said in run.violations)
    return run.answers if run.compared else None, violations, None, tuple(protocol_checks(design.spec, run))


def _run(design: Design, text: str, inputs: Columns) -> Results:
    unit = verilated(design.spec, verilog=text, operations=len(next(iter(inputs.values()))))
    with _prints_aside():
        return unit(**inputs)


@contextlib.contextmanager
def _prints_aside() -> Iterator[None]:
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(out, 1)
        os.close(out)


def _accepted(design: Design, made: VectorSet, answers: Answers) -> Answers:
    if not design.any_nan:
        return answers
    values = dict(answers.values)
    for port in results_of(made.unit):
        expected = made.expected[port.name]
        same = equal_up_to_nan(made.unit, port, values[port.name], expected, made.inputs)
        values[port.name] = np.where(same, expected, values[port.name])
    return Answers(values, answers.unknown)


_FEW = 1 << 16
"""Number of operations up to which every simulator runs all operations of a unit without state."""
_PROBED = 2_000


def _found_latency(design: Design, made: VectorSet) -> int:
    """Return the latency in clock cycles at which most results are right."""
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(made), min(_PROBED, len(made)), replace=False)
    inputs = {name: column[chosen] for name, column in made.inputs.items()}
    answers = _run(design, wrapped(design, 1), inputs)
    results = [port.name for port in results_of(design.spec) if port.name not in design.without]
    names = results or [port.name for port in design.spec.outputs if port.name not in design.without]

    def share(late: int) -> float:
        size = len(chosen) - abs(late)
        after, before = max(late, 0), max(-late, 0)
        given, right = slice(after, after + size), slice(before, before + size)
        equal = [answers[name][given] == made.expected[name][chosen][right] for name in names]
        return float(np.logical_and.reduce(equal).mean())

    shares = [share(late) for late in range(min(MOST_CLOCKS, len(chosen) // 2))]
    best = int(np.argmax(shares))
    if share(-1) > max(_ENOUGH, shares[best]):
        raise ValueError(f"{design.path}: results come in the clock of their operands; give latency = 0")
    if shares[best] < _ENOUGH:
        raise ValueError(
            f"{design.path}: the latency is not found: at none of 1 to {MOST_CLOCKS} clocks more than "
            f"{max(shares):.0%} of the results are right; give latency, and check [ports] and [reset]"
        )
    return best + 1


_ENOUGH = 0.25
"""Fraction of right results above which a latency is accepted. A wrong latency gives far fewer right results."""
