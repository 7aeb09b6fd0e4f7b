"""A clocked unit under stalls and resets: its results must be those that it gives at full rate.

Icarus, which knows x, runs it where it reads the design; else Verilator does, whose registers start at random values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fp9.system.missing import MissingTool
from fp9.vectors.sets import VectorSet
from fp9_sim.benches.scoreboard import Answers
from fp9_sim.regression.run import regress
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import build
from fp9_sim.simulators.find import SimulatorError
from fp9_sim.simulators.style import any_style
from fp9_sim.third_party.mapping import Design

OPERATIONS = 1024
"""Operations of the run, where there are as many: stalls and resets show their faults on a few hundred."""


@dataclass(frozen=True)
class Protocol:
    """What a run with stalls and resets found: its simulator, its operations, and breaches in sentences."""

    simulator: str
    operations: int
    violations: tuple[str, ...]


def protocol(
    design: Design, text: str, latency: int, made: VectorSet, answers: Answers, seed: int, build_dir: Path
) -> Protocol:
    """Run some of the operations again with stalls and resets, and compare with the answers at full rate.

    Raises SimulatorError where no simulator takes the design or the run ends without a result.
    """
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
    return Protocol(simulator, len(some), tuple(hinted(design, said) for said in (*run.violations, *differing)))


def hinted(design: Design, violation: str) -> str:
    """A breach of the protocol with what the mapping can set against it."""
    named = design.handshake
    if "results for" in violation and "in_valid" in named and "in_ready" not in named and " 0 results" not in violation:
        return (
            f"{violation}; if it cannot take one at every clock, give handshake.in_ready, or handshake.start and "
            "handshake.done, which hold the operands until the result"
        )
    if design.reset is None and design.latency_from_handshake:
        return f"{violation}; the mapping names no [reset]: add one with its port"
    if design.reset is not None and " 0 results" in violation:
        level = "low" if design.reset[1] else "high"
        return f'{violation}; the mapping says [reset] active = "{level}": check it, and [handshake]'
    return violation


def _some(made: VectorSet, answers: Answers) -> VectorSet:
    """Operations with the results that came at full rate: the first ones of a sequence, else a sample in order."""
    count = min(len(made), OPERATIONS)
    chosen = np.arange(count - count % made.unit.group)
    if not made.unit.has_state and made.unit.group == 1:
        chosen = np.sort(np.random.default_rng(0).choice(len(made), count, replace=False))
    inputs, expected, care = (
        {name: column[chosen] for name, column in part.items()} for part in (made.inputs, answers.values, made.care)
    )
    return replace(made, inputs=inputs, expected=expected, care=care)


def _simulator(design: Design, text: str, build_dir: Path) -> str:
    """Icarus where it is installed and takes the design, else Verilator."""
    try:
        build(design.spec, any_style(text, design.spec.name), tools.icarus(), build_dir)
    except (MissingTool, SimulatorError):
        return "verilator"
    return "icarus"
