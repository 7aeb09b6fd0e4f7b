"""Regressions that are not driven again: only those that passed, and only while nothing changed that they depend on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fp9_rtl
from fp9.system.cache import recomputing
from fp9.units import CATALOGUE
from fp9.vectors import sets as vectors
from fp9_sim.bench.scoreboard import Answers
from fp9_sim.regression import Regression, cached, regress_once
from fp9_sim.simulators.find import Simulator

UNIT = CATALOGUE["decoder_hif8"]
MADE = vectors.generate(UNIT, "random", 5)
PASSED = Regression(UNIT.name, "icarus", "12.0", 5, (), 0, (), 1.5, 0, None, Answers({}, {}))


@pytest.fixture
def driven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[dict[str, Any], bool]]:
    """What `regress_once` says of a run that ends as is given, and whether it was driven."""
    drives: list[Regression] = []
    monkeypatch.setattr(cached.tools, "find", lambda name: Simulator(name, "12.0", tmp_path))

    def run(ends: Regression = PASSED, made: Any = MADE, by: str = "icarus", seed: int = 0) -> tuple[Any, bool]:
        drives.clear()
        monkeypatch.setattr(cached, "regress", lambda *_, **__: drives.append(ends) or ends)
        found = regress_once(UNIT, made, by, seed=seed, folder=tmp_path / "kept")
        return found, bool(drives)

    return run


def test_a_run_that_passed_is_driven_once_and_named_by_its_digest_then(driven: Any, tmp_path: Path) -> None:
    found, was_driven = driven()
    assert was_driven and found == {"checked": 5, "mismatches": 0, "violations": [], "seconds": 1.5, "kept": ""}
    again, was_driven = driven()
    (file,) = (tmp_path / "kept").iterdir()
    assert not was_driven and again == {**found, "kept": file.stem}


@pytest.mark.parametrize("change", [{"total_mismatches": 1}, {"violations": ("a result was lost",)}], ids=str)
def test_a_run_that_failed_is_driven_each_time(driven: Any, change: dict[str, Any]) -> None:
    failed = dataclasses.replace(PASSED, **change)
    for _ in range(2):
        found, was_driven = driven(failed)
        assert was_driven and not found["kept"]


def test_whatever_can_change_the_verdict_leads_to_a_new_run(driven: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert driven()[1]
    inputs = {name: column[::-1] for name, column in MADE.inputs.items()}
    for change in ({"made": vectors.from_inputs(UNIT, inputs)}, {"by": "verilator"}, {"seed": 1}):
        assert driven(**change)[1], change
        assert not driven(**change)[1], change
    with recomputing():
        assert driven()[1]
    assert not driven()[1]
    spoilt = {**MADE.expected, "sign": MADE.expected["sign"] ^ 1}
    assert driven(made=dataclasses.replace(MADE, expected=spoilt))[1]
    monkeypatch.setattr(fp9_rtl, "verilog", lambda unit: "another text")
    assert driven()[1]
    monkeypatch.setattr(cached, "source_digest", lambda: "another bench")
    assert driven()[1]
    monkeypatch.setattr(cached.tools, "find", lambda name: Simulator(name, "13.0", Path()))
    assert driven()[1]
