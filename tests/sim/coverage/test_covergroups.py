"""SystemVerilog coverage: the same bins, hits and impossible combinations as fp9's own functional coverage."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.sim.packages.test_package import KINDS, make
from tests.support.programs import shared_library
from tests.support.slang import accepts

from fp9.units import CATALOGUE, Unit
from fp9_sim.coverage import Covered, measure, model_of, of_suite
from fp9_sim.coverage.covergroups import coverage_package, has_coverage
from fp9_sim.packages import write_package

COVERED = {kind: unit for kind, unit in KINDS.items() if has_coverage(unit)}
"""A unit of each kind whose coverage fp9 writes in SystemVerilog."""

SIMULATED = {kind: KINDS[kind] for kind in ("cast", "mul", "fpu", "multi_fpu")}
SIMULATED["mac"] = CATALOGUE["mac_dlfloat16_gated"]
SIMULATED["quantiser"] = CATALOGUE["quantiser_nvfp4"]
"""Units whose coverage Verilator measures. The accumulator has state, a window and a handshake."""


def _lines(unit: Unit) -> list[str]:
    """The report that the SystemVerilog prints, from fp9's own coverage of the smoke suite."""
    lines = []
    for item in of_suite(unit, "smoke").items:
        lines.append(f"{item.name}: {item.met} of {item.bins} bins hit")
        lines += [f"  not hit: {hole}" for hole in item.holes]
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIMULATED)
def test_verilator_hits_the_bins_that_fp9_hits(kind: str, tmp_path: Path) -> None:
    unit = SIMULATED[kind]
    write_package(unit, tmp_path, "smoke")
    with shared_library(tmp_path / "build" / "covered", "timing", "-O0"):
        done = make(tmp_path, "coverage")
    assert done.returncode == 0, done.stdout + done.stderr
    printed = (tmp_path / "build" / "coverage.log").read_text().splitlines()
    assert [line for line in printed if " bins hit" in line or "not hit: " in line] == _lines(unit)


@pytest.mark.parametrize("kind", COVERED)
def test_every_bin_has_a_counter_a_name_and_a_bin_of_a_covergroup(kind: str) -> None:
    unit, text = COVERED[kind], coverage_package(COVERED[kind])
    items = _items(unit)
    reported = dict(re.findall(r'"(.+): %0d of (\d+) bins hit"', text))
    assert reported == {item.name: str(item.bins) for item in items}
    assert text.count("ignore_bins ") == sum(item.excluded for item in items)
    crosses = {cross.name for group in model_of(unit).groups for cross in group.crosses}
    points = [item for item in items if item.name.rpartition(".")[2] not in crosses]
    assert len(re.findall(r"^      bins \w+ = ", text, re.MULTILINE)) == sum(item.bins for item in points)


def _items(unit: Unit) -> tuple[Covered, ...]:
    """The bins that cocotb-coverage counts, without a single operation."""
    nothing = {port.name: np.zeros(0, np.int64) for port in (*unit.inputs, *unit.outputs)}
    return measure(unit, nothing, nothing).items


@pytest.mark.parametrize("kind", COVERED)
def test_a_systemverilog_parser_accepts_the_covergroups(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "coverage.sv"
    path.write_text(coverage_package(COVERED[kind]))
    assert accepts("-DCOVERGROUPS", path)


def test_a_unit_without_visible_sums_has_no_coverage_file(tmp_path: Path) -> None:
    unit = CATALOGUE["mac_dlfloat16_chunked"]
    assert not has_coverage(unit)
    write_package(unit, tmp_path, "smoke")
    assert not list(tmp_path.rglob("*coverage*")) and "coverage:" not in (tmp_path / "Makefile").read_text()
