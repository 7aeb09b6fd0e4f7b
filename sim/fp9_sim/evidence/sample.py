"""Repeat the measurement of a small random part of the recorded evidence about a unit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import fp9_rtl
from fp9.suites import inputs_of
from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9_sim import cross_check, mutants
from fp9_sim.batch.unit import check
from fp9_sim.proofs import State, claims_of, decided

# Random operations that the spot check simulates.
RANDOM = 1 << 18

# Random operations that the spot check computes with the reference model.
CHECKED = 1 << 10

MUTANTS = 16

# Suites that the reference model computes if complete suites are requested.
SUITES = ("smoke", "corner")


@dataclass(frozen=True)
class Sample:
    """Outcome of one spot check.

    `passed` is None if the spot check was not decided in time, or if the unit has no proof.
    """

    what: str
    found: str
    passed: bool | None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def samples(unit: Unit, seed: int, limit: float, whole: bool = False) -> Iterator[Sample]:
    """Yield the outcome of each spot check of a unit.

    The Verilog and the reference model must give the same results as the golden model. A solver must prove one randomly
    chosen case of the unit's proofs within `limit` seconds. The corner suite must kill every non-equivalent mutant of a
    small random sample. The reference model computes random operations, or the complete smoke and corner suites if
    `whole` is true. Raises the same errors as the functions `verilated` and `mutants.score`.
    """
    rng = np.random.default_rng(seed)
    ways: tuple[tuple[str, Callable[[], tuple[str, bool | None]]], ...] = (
        ("corner suite", lambda: _agree(unit, "corner", None, seed)),
        ("random", lambda: _agree(unit, "random", RANDOM, seed)),
        ("cross-check", lambda: _cross_checked(unit, seed, whole)),
        ("proof", lambda: _proven(unit, rng, limit)),
        ("mutants", lambda: _killed(unit, seed)),
    )
    for what, way in ways:
        started = time.monotonic()
        found, passed = way()
        yield Sample(what, found, passed, round(time.monotonic() - started, 1))


def _agree(unit: Unit, suite: str, count: int | None, seed: int) -> tuple[str, bool]:
    inputs = inputs_of(unit, suite, count, seed)
    first, wrong = check(unit, inputs)
    operations = len(next(iter(inputs.values())))
    shown = f"; {first[0]}" if first else ""
    return f"{operations:,} operations, {wrong:,} mismatches{shown}", not wrong


def _cross_checked(unit: Unit, seed: int, whole: bool) -> tuple[str, bool]:
    sampled = vectors.generate(unit, "random", CHECKED, seed)
    made = [vectors.generate(unit, suite) for suite in SUITES] if whole else [sampled]
    found = [cross_check.cross_check(one) for one in made]
    operations, different = sum(one.operations for one in found), sum(one.different for one in found)
    return f"{operations:,} operations on the reference model, {different:,} differ", not different


def _proven(unit: Unit, rng: np.random.Generator, limit: float) -> tuple[str, bool | None]:
    # The solver must also refute a deliberately wrong specification, which is called the control.
    try:
        cases = [(claim, case) for claim in claims_of(unit) for case in claim.cases]
    except ValueError:
        return "no claim of this unit is proven", None
    claim, case = cases[rng.integers(len(cases))]
    record = decided(unit, claim, case, fp9_rtl.verilog(unit), limit)
    control = {None: "", True: ", its control refuted", False: ", its control not refuted"}[record.control_refuted]
    words = f"1 of {len(cases):,} cases, {claim.name}: {case.name}: {record.state}{control}"
    if record.state == State.UNFINISHED.value:
        return words, None
    return words, record.state == State.PROVEN.value and record.control_refuted is not False


def _killed(unit: Unit, seed: int) -> tuple[str, bool]:
    score = mutants.score(unit, drawn=MUTANTS, seeds=(seed,), suites=("corner",))
    (suite,) = score.suites
    counted = suite.killed + len(suite.survivors)
    return f"{suite.killed} of {counted} killed, {len(score.equivalent)} equivalent", suite.rate == 1
