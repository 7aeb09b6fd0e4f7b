"""Every unit of the catalogue runs on both simulators, with stalls and resets: built from its Verilog, smoke suite."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.rosters import every_circuit

from fp9.units import CATALOGUE, Unit
from fp9.vectors import generate
from fp9_sim import regress
from fp9_sim.simulators import build

SIMULATORS = ("icarus", "verilator")


@pytest.mark.slow
@pytest.mark.parametrize("unit", every_circuit())
def test_the_smoke_suite_of_every_unit_agrees_on_both_simulators(unit: Unit, tmp_path: Path) -> None:
    suite = generate(unit, "smoke")
    for simulator in SIMULATORS:
        found = regress(unit, suite, simulator, build_dir=tmp_path)
        assert found.passed and found.checked == len(suite), simulator


@pytest.mark.slow
def test_a_design_with_a_compiled_header_of_its_own_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verilator splits large designs and compiles a header for them, beside the one that all builds share.

    The test lowers the size from which Verilator splits a design, so that a small unit shows the same.
    """
    arguments = build._VERILATOR_ARGUMENTS
    assert arguments[-2] == "--output-split"
    monkeypatch.setattr(build, "_VERILATOR_ARGUMENTS", (*arguments[:-1], "2000"))
    unit = CATALOGUE["fma_fp32"]
    assert regress(unit, generate(unit, "smoke"), "verilator", build_dir=tmp_path).passed
    assert list(tmp_path.rglob("*__pch.h.fast.gch")), "Verilator compiled no header: lower the size"
