"""Other people's RTL held to a unit spec: the suites on a simulator, and what explains the differences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fp9.referee import Explained, Explanation, explain
from fp9.referee.classes import is_nan, results_of
from fp9.vectors.sets import VectorSet, concatenate, generate
from fp9_sim.batch.unit import verilated
from fp9_sim.benches.scoreboard import Answers, Mismatch, mismatches
from fp9_sim.foreign.mapping import Foreign
from fp9_sim.foreign.wrapper import wrapped
from fp9_sim.regression.run import regress
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import DEFAULT_FOLDER

SHOWN = 5
"""Differences that are shown."""


NOTHING = Explained((), 0, 0)
"""What there is to explain where nothing differs."""


@dataclass(frozen=True)
class Verdict:
    """How a unit that is not ours did: operations, mismatches in all and the first ones, what explains them."""

    top: str
    simulator: str
    checked: int
    total_mismatches: int
    mismatches: tuple[Mismatch, ...]
    explained: Explained = NOTHING
    violations: tuple[str, ...] = ()

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """The sentences that explain the mismatches."""
        return self.explained.explanations

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
            return Verdict(foreign.top, found.name, run.checked, 0, (), NOTHING, violations)
    accepted = _accepted(foreign, made, answers)
    first, total = mismatches(made, accepted, SHOWN)
    explained = explain(made, accepted.values, any_nan=foreign.any_nan) if total else NOTHING
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
    for port in results_of(made.unit):
        both = is_nan(port, values[port.name], made.inputs) & is_nan(port, made.expected[port.name], made.inputs)
        values[port.name] = np.where(both, made.expected[port.name], values[port.name])
    return Answers(values, answers.unknown)
