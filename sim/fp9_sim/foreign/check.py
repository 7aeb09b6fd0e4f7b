"""Other people's RTL held to a unit spec: the suites on a simulator, and what explains the differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fp9.formats import Kind
from fp9.rounding import Flags
from fp9.units import FLAGS_PORT, Port
from fp9.vectors.sets import VectorSet, concatenate, generate
from fp9_sim.batch.unit import verilated
from fp9_sim.benches.scoreboard import Answers, Mismatch, mismatches
from fp9_sim.foreign.hypotheses import hypotheses
from fp9_sim.foreign.mapping import Foreign
from fp9_sim.foreign.wrapper import wrapped
from fp9_sim.regression.run import regress
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import DEFAULT_FOLDER

SHOWN = 5
"""Differences that are shown."""


@dataclass(frozen=True)
class Explanation:
    """A sentence, how many of the mismatches it explains, and how many right results it would make wrong."""

    says: str
    explains: int
    contradicts: int


@dataclass(frozen=True)
class Verdict:
    """How a unit that is not ours did: operations, mismatches in all and the first ones, what explains them."""

    top: str
    simulator: str
    checked: int
    total_mismatches: int
    mismatches: tuple[Mismatch, ...]
    explanations: tuple[Explanation, ...]
    violations: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every operation gave the expected result, and the handshake was kept."""
        return not self.total_mismatches and not self.violations


def check_rtl(
    foreign: Foreign,
    simulator: str = "verilator",
    *,
    count: int = 20_000,
    seed: int = 0,
    build_dir: Path | str = DEFAULT_FOLDER,
) -> Verdict:
    """Run a unit's corner suite and `count` random operations on Verilator, or its smoke suite and those on Icarus.

    On Icarus a unit with a clock is stalled and reset as well. Raises SimulatorError where the simulator refuses the
    design, MissingTool where it is not installed, ValueError for an unknown simulator.
    """
    found = tools.find(simulator)
    suite = "corner" if found.name == "verilator" else "smoke"
    random = generate(foreign.spec, "random", count, seed)
    made = _relaxed(foreign, concatenate([generate(foreign.spec, suite), random]))
    text = wrapped(foreign)
    violations: tuple[str, ...] = ()
    if found.name == "verilator":
        answers = Answers(verilated(foreign.spec, verilog=text)(**made.inputs), {})
    else:
        run = regress(
            foreign.spec, made, simulator, seed=seed, verilog=text, build_dir=build_dir, latency=foreign.latency
        )
        answers, violations = run.answers, run.violations
        if violations:
            return Verdict(foreign.top, found.name, run.checked, 0, (), (), violations)
    accepted = _accepted(foreign, made, answers)
    first, total = mismatches(made, accepted, SHOWN)
    explained = explain(made, accepted) if total else ()
    return Verdict(foreign.top, found.name, len(made), total, tuple(first), explained)


def _relaxed(foreign: Foreign, made: VectorSet) -> VectorSet:
    """The vectors without meaning for outputs that their unit does not have."""
    nothing = {name: np.zeros(len(made), dtype=np.bool_) for name in foreign.without}
    return VectorSet(made.unit, made.inputs, made.expected, {**made.care, **nothing}, made.origin)


def _accepted(foreign: Foreign, made: VectorSet, answers: Answers) -> Answers:
    """The answers, any NaN made the expected one where any is as good."""
    if not foreign.any_nan:
        return answers
    values = dict(answers.values)
    for port in made.unit.outputs:
        both = _is_nan(port, values[port.name], made.inputs) & _is_nan(port, made.expected[port.name], made.inputs)
        values[port.name] = np.where(both, made.expected[port.name], values[port.name])
    return Answers(values, answers.unknown)


def _is_nan(port: Port, codes: Any, inputs: Mapping[str, Any]) -> Any:
    """Where the codes of a port are NaN."""
    nan = np.zeros(len(codes), dtype=np.bool_)
    chosen = np.minimum(inputs[port.select], len(port.formats) - 1) if port.select else np.zeros(len(codes), dtype=int)
    for index, fmt in enumerate(port.formats):
        used = np.unique(codes[chosen == index])
        nans = [code for code in used.tolist() if fmt.kind_of(code) is Kind.NAN]
        nan |= (chosen == index) & np.isin(codes, nans)
    return nan


# --- what explains the differences ----------------------------------------------------------------------------------


def explain(made: VectorSet, answers: Answers) -> tuple[Explanation, ...]:
    """The hypotheses that explain mismatches of results, the one that explains most first.

    Each gives the very answers that the model does not, for more mismatches than right answers that it would make
    wrong, and explains some that those before it do not.
    """
    results = [port for port in made.unit.outputs if port.formats] or list(made.unit.outputs)

    def differs(expected: Mapping[str, Any]) -> Any:
        return np.logical_or.reduce([answers.values[port.name] != expected[port.name] for port in results])

    mismatched = differs(made.expected)
    if not mismatched.any():
        return _flags_alone(made, answers)
    nan = [
        _is_nan(p, answers.values[p.name], made.inputs) & _is_nan(p, made.expected[p.name], made.inputs)
        for p in results
    ]
    candidates = {_ANY_NAN: mismatched & ~np.logical_and.reduce(nan)}
    candidates |= {hypothesis.says: differs(hypothesis.evaluate(made.inputs)) for hypothesis in hypotheses(made.unit)}
    found: list[Explanation] = []
    left = mismatched.copy()
    while left.any():
        scores = [
            Explanation(says, int((left & ~wrong).sum()), int((wrong & ~mismatched).sum()))
            for says, wrong in candidates.items()
        ]
        best = max(scores, key=lambda score: score.explains - score.contradicts)
        if best.explains <= best.contradicts:
            break
        found.append(best)
        left &= candidates[best.says]
    return tuple(found)


def _flags_alone(made: VectorSet, answers: Answers) -> tuple[Explanation, ...]:
    """Which flags differ where all results are right."""
    care = made.care.get(FLAGS_PORT.name, np.True_)
    if FLAGS_PORT.name not in made.expected:
        return ()
    changed = (answers.values[FLAGS_PORT.name] ^ made.expected[FLAGS_PORT.name]) * care
    counts = {flag.name.lower(): int((changed & flag.value != 0).sum()) for flag in Flags if flag.name}
    words = ", ".join(f"{name} {count} times" for name, count in counts.items() if count)
    return (
        (Explanation(f"all results are right; flags differ: {words}", int((changed != 0).sum()), 0),) if words else ()
    )


_ANY_NAN = 'its NaN has another code; nan = "any" accepts it'
