"""Simulate the same vectors on Icarus and on Verilator, and find operations with different results.

A difference points to a bug in a simulator or in the Verilog.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fp9.units import Unit
from fp9.vectors.checks import read_for
from fp9.vectors.sets import VectorSet
from fp9_sim.bench.scoreboard import Answers
from fp9_sim.regression.run import Regression, regress
from fp9_sim.simulators.build import DEFAULT_FOLDER
from fp9_sim.simulators.find import SIMULATORS


@dataclass(frozen=True)
class Comparison:
    """Simulation outcomes of Icarus and Verilator, and the indices of the operations with different results."""

    runs: tuple[Regression, ...]
    differing: NDArray[np.intp]

    @property
    def passed(self) -> bool:
        return not self.differing.size and all(run.passed for run in self.runs)


def compare(
    unit: Unit,
    vectors: VectorSet | Path | str,
    *,
    seed: int = 0,
    stalls: bool = True,
    build_dir: Path | str = DEFAULT_FOLDER,
    verilog: str | None = None,
) -> Comparison:
    """Simulate the same vectors on Icarus and on Verilator in parallel, and compare the results.

    The arguments and the raised errors are the same as those of the function `regress`. Differences at don't-care
    outputs are allowed, because Verilator has no x values.
    """
    checked = vectors if isinstance(vectors, VectorSet) else read_for(unit, vectors)

    def run(simulator: str) -> Regression:
        return regress(unit, checked, simulator, seed=seed, stalls=stalls, build_dir=build_dir, verilog=verilog)

    with ThreadPoolExecutor(len(SIMULATORS)) as pool:
        runs = tuple(pool.map(run, SIMULATORS))
    return Comparison(runs, _differing(runs[0], runs[1], checked))


def _differing(one: Regression, other: Regression, vectors: VectorSet) -> NDArray[np.intp]:
    if one.checked < len(vectors) or other.checked < len(vectors):
        return np.arange(min(one.checked, other.checked), len(vectors))
    reference = dataclasses.replace(vectors, expected=one.answers.values)
    return np.flatnonzero(Answers(other.answers.values, one.answers.unknown).wrong(reference))
