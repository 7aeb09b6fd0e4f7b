"""Simulate a clocked third-party unit with stalls and resets.

With stalls and resets, the unit must give the same results as in a simulation at full rate. Icarus is preferred,
because Icarus simulates x values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fp9.system.missing import MissingTool
from fp9.vectors.sets import VectorSet
from fp9_sim.bench.scoreboard import Answers
from fp9_sim.regression import Check, Regression, State, protocol_checks, regress
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import build
from fp9_sim.simulators.find import SimulatorError
from fp9_sim.simulators.style import any_style
from fp9_sim.third_party.mapping import Design

OPERATIONS = 1024
"""Largest number of operations with stalls and resets, which show handshake faults early."""


@dataclass(frozen=True)
class Protocol:
    simulator: str
    operations: int
    violations: tuple[str, ...]
    checks: tuple[Check, ...] = ()


def protocol(
    design: Design, text: str, latency: int, made: VectorSet, answers: Answers, seed: int, build_dir: Path
) -> Protocol:
    """Simulate with stalls and resets, and compare the results with a simulation at full rate."""
    some = _some(made, answers)
    simulator = _simulator(design, text, build_dir)
    run = regress(
        design.spec,
        some,
        simulator,
        seed=seed,
        verilog=text,
        build_dir=build_dir,
        latency=latency,
        elastic=design.latency_from_handshake,
    )
    differing = tuple(f"with stalls and resets, unlike at full rate, {mismatch}" for mismatch in run.mismatches[:1])
    said = tuple(hinted(design, text) for text in (*run.violations, *differing))
    return Protocol(simulator, len(some), said, (*protocol_checks(design.spec, run), _same(run, differing)))


def _same(run: Regression, differing: tuple[str, ...]) -> Check:
    name = "values with stalls and resets, as at full rate"
    if not run.compared:
        return Check(name, run.simulator, "a violation ended the run", State.NOT_RUN)
    state = State.FAILED if differing else State.PASSED
    return Check(name, run.simulator, f"{run.checked:,} operations", state, run.seconds, differing)


def hinted(design: Design, violation: str) -> str:
    """Add a hint to the error message `violation` if a change in the mapping file may remove the error."""
    named = design.handshake
    if "results for" in violation and "in_valid" in named and "in_ready" not in named and " 0 results" not in violation:
        return (
            f"{violation}; if it cannot take one at every clock, give handshake.in_ready, or handshake.start and "
            "handshake.done, which hold the operands until the result"
        )
    if design.reset is None and design.latency_from_handshake:
        return f"{violation}; the mapping names no [reset]: add one with its port"
    unset = "is x" in violation and violation.endswith("at power-up")
    if design.reset is not None and (unset or " 0 results" in violation):
        level = "low" if design.reset[1] else "high"
        return f'{violation}; the mapping says [reset] active = "{level}": check it, and [handshake]'
    return violation


def _some(made: VectorSet, answers: Answers) -> VectorSet:
    count = min(len(made), OPERATIONS)
    chosen = np.arange(count - count % made.unit.group)
    if not made.unit.has_state and made.unit.group == 1:
        chosen = np.sort(np.random.default_rng(0).choice(len(made), count, replace=False))
    inputs, expected, care = (
        {name: column[chosen] for name, column in part.items()} for part in (made.inputs, answers.values, made.care)
    )
    return replace(made, inputs=inputs, expected=expected, care=care)


def _simulator(design: Design, text: str, build_dir: Path) -> str:
    try:
        build(design.spec, any_style(text, design.spec.name), tools.icarus(), build_dir)
    except (MissingTool, SimulatorError):
        return "verilator"
    return "icarus"
