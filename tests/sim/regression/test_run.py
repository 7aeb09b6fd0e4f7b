"""The bench itself, on small hand-written designs: what is right passes, and each way to be wrong is found."""

from __future__ import annotations

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.sim.support.standins import combinational, pipelined

from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE, Unit
from fp9.vectors import sets as vectors
from fp9.vectors.sets import VectorSet
from fp9_sim import SIMULATORS, SimulatorError, compare, regress

SMALL = CATALOGUE["decoder_hif8"]
PIPELINED = dataclasses.replace(SMALL, stages=3)


def codes(unit: Unit, repeats: int = 1) -> VectorSet:
    """All 256 codes in random order, so many times."""
    order = np.random.default_rng(0).permutation(np.tile(np.arange(256), repeats))
    return vectors.from_inputs(unit, {"code": order})


def broken(good: VectorSet, index: int, port: str, flip: int) -> VectorSet:
    """The vectors with bits of one expected result flipped."""
    column = np.array(good.expected[port])
    column[index] ^= flip
    return dataclasses.replace(good, expected={**good.expected, port: column})


# --- combinational --------------------------------------------------------------------------------------------------


def test_both_simulators_agree_with_the_model_and_each_other(build_dir: Path) -> None:
    result = compare(SMALL, codes(SMALL), build_dir=build_dir, verilog=combinational(SMALL))
    assert result.passed
    assert [run.simulator for run in result.runs] == list(SIMULATORS)
    assert [run.checked for run in result.runs] == [256, 256]
    json.dumps([run.to_dict() for run in result.runs])


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_broken_vector_is_reported_with_index_operand_expected_and_got(simulator: str, build_dir: Path) -> None:
    good = vectors.from_inputs(SMALL, {"code": np.arange(256)})
    # 0x08 is 1.0 in HiFloat8: exponent 0.
    bad = broken(good, 0x08, "exponent", 0b10)
    result = regress(SMALL, bad, simulator, build_dir=build_dir, verilog=combinational(SMALL))
    assert not result.passed and result.checked == 256 and result.total_mismatches == 1
    (mismatch,) = result.mismatches
    assert mismatch.index == 8
    assert str(mismatch) == "operation 8: code = 0x08 (1.0): exponent expected 0x02 (2), got 0x00 (0)"


@pytest.mark.slow
def test_mismatches_are_all_counted_and_the_first_kept(build_dir: Path) -> None:
    good = codes(SMALL, 3)
    wrong = dataclasses.replace(good, expected={**good.expected, "zero": 1 - np.asarray(good.expected["zero"])})
    result = regress(SMALL, wrong, "icarus", build_dir=build_dir, verilog=combinational(SMALL))
    assert result.total_mismatches == 768
    assert [mismatch.index for mismatch in result.mismatches] == list(range(100))


@pytest.mark.slow
def test_an_unknown_bit_is_a_mismatch_where_the_output_carries_meaning(build_dir: Path) -> None:
    good = codes(SMALL)
    result = regress(SMALL, good, "icarus", build_dir=build_dir, verilog=combinational(SMALL, sign="1'bx"))
    assert result.total_mismatches == int(good.care["sign"].sum()) == 255  # the sign of NaN carries none
    assert str(result.mismatches[0].got["sign"]) == "0xx (unknown bits)"


@pytest.mark.slow
def test_a_partly_unknown_value_is_shown_digit_by_digit(build_dir: Path) -> None:
    design = combinational(SMALL, exponent="6'b0z0010")
    result = regress(SMALL, codes(SMALL), "icarus", build_dir=build_dir, verilog=design)
    assert result.mismatches[0].got["exponent"].hex == "x2"


@pytest.mark.slow
def test_a_vector_file_is_taken_as_it_is(build_dir: Path, tmp_path: Path) -> None:
    path = vectors.export(broken(codes(SMALL), 5, "nan", 1), tmp_path)
    result = regress(SMALL, path, "icarus", build_dir=build_dir, verilog=combinational(SMALL))
    assert [mismatch.index for mismatch in result.mismatches] == [5]


# --- with stages ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("stalls", [True, False])
def test_a_sound_pipeline_passes(simulator: str, stalls: bool, build_dir: Path) -> None:
    vectors = codes(PIPELINED, 4)
    result = regress(
        PIPELINED, vectors, simulator, stalls=stalls, seed=7, build_dir=build_dir, verilog=pipelined(PIPELINED)
    )
    assert result.passed and result.checked == 1024, result.violations


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ({"in_ready": "1'b1"}, "stuck"),  # takes operations that it cannot hold: they are lost
        ({"in_ready": "!full"}, "belongs to no operation"),  # holds an operation twice
        ({"moves": "1'b1"}, "changed"),  # does not wait
        ({"out_valid": "full && (out_ready || clocks[1])"}, "was withdrawn"),
        ({"shown": "out_ready ? codes[STAGES*8-1 -: 8] : clocks"}, "changed"),
        ({"out_valid": "valid[STAGES-2]"}, "comes 2 clocks after its operation; the unit takes 3"),
        (
            {"power_up": "initial valid = 0;", "reset_valid": "valid"},
            "comes 0 clocks after its operation; the unit takes 3; after a reset of one clock while results waited",
        ),
        ({"reset_valid": "valid"}, "out_valid is x; after a reset of one clock at power-up"),
        (
            {"in_ready": "(!full || out_ready) && clocks[0]", "next_valid": "{valid, in_valid && clocks[0]}"},
            "was not taken at once",
        ),
        ({"in_ready": "1'b0", "next_valid": "{valid, 1'b0}"}, "stuck at clock"),
    ],
)
def test_a_breach_of_the_handshake_is_found(fault: dict[str, str], found: str, build_dir: Path) -> None:
    design = pipelined(PIPELINED, **fault)
    result = regress(PIPELINED, codes(PIPELINED, 2), "icarus", build_dir=build_dir, verilog=design)
    assert not result.passed
    assert found in result.violations[0]


@pytest.mark.slow
def test_wrong_results_of_a_pipeline_are_mismatches(build_dir: Path) -> None:
    bad = broken(codes(PIPELINED, 4), 1000, "significand", 1)
    result = regress(PIPELINED, bad, "icarus", build_dir=build_dir, verilog=pipelined(PIPELINED))
    assert not result.violations
    assert [mismatch.index for mismatch in result.mismatches] == [1000]


@pytest.mark.slow
def test_a_single_operation_is_enough(build_dir: Path) -> None:
    one = vectors.from_inputs(PIPELINED, {"code": np.array([0x08])})
    assert regress(PIPELINED, one, "icarus", build_dir=build_dir, verilog=pipelined(PIPELINED)).passed


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_text_in_another_style_is_taken(simulator: str, build_dir: Path) -> None:
    """A signal that nothing uses, and a remark that is turned on again, are a matter of style."""
    design = combinational(SMALL).replace("endmodule", "  wire idle = code[0];\nendmodule")
    design = f"/* verilator lint_on UNUSEDSIGNAL */\n{design}"
    assert regress(SMALL, codes(SMALL), simulator, build_dir=build_dir, verilog=design).passed


# --- a run that shows nothing ---------------------------------------------------------------------------------------


def test_no_vectors_are_refused(build_dir: Path) -> None:
    none = vectors.from_inputs(SMALL, {"code": np.arange(0)})
    with pytest.raises(ValueError, match="no vectors given for decoder_hif8"):
        regress(SMALL, none, "icarus", build_dir=build_dir)


def test_vectors_of_another_unit_are_refused(build_dir: Path) -> None:
    with pytest.raises(ValueError, match="give vectors of the same spec"):
        regress(PIPELINED, codes(SMALL), "icarus", build_dir=build_dir)


@pytest.mark.slow
def test_a_simulation_that_ends_early_is_no_pass(build_dir: Path) -> None:
    design = combinational(SMALL).replace("endmodule", "  initial #3 $finish;\nendmodule")
    with pytest.raises(SimulatorError, match=r"icarus gave no result for decoder_hif8; the log is .*run\.log"):
        regress(SMALL, codes(SMALL), "icarus", build_dir=build_dir, verilog=design)


@pytest.mark.slow
def test_a_bench_that_checks_nothing_is_no_pass(
    build_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "idle_bench.py").write_text(IDLE_BENCH)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("fp9_sim.regression.run.BENCH", "idle_bench")
    with pytest.raises(SimulatorError, match="icarus checked nothing of decoder_hif8"):
        regress(SMALL, codes(SMALL), "icarus", build_dir=build_dir, verilog=combinational(SMALL))


IDLE_BENCH = """
import os, pathlib, cocotb
from fp9_sim.bench.exchange import FOLDER_VARIABLE, Order, Outcome
from fp9_sim.bench.scoreboard import answers_of

@cocotb.test()
async def idle(dut):
    folder = pathlib.Path(os.environ[FOLDER_VARIABLE])
    Outcome(answers_of(Order.read(folder).vectors.unit, []), 0).write(folder)
"""


# --- ports, waves, builds -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_port_of_another_width_or_name_is_named(build_dir: Path) -> None:
    wide = (
        combinational(SMALL)
        .replace("[3:0] significand)", "[4:0] significand)")
        .replace("[3:0] significand,", "[4:0] significand,")
    )
    result = regress(SMALL, codes(SMALL), "icarus", build_dir=build_dir, verilog=wide)
    assert result.violations == ("port significand has 5 bits; the spec has 4",)
    renamed = combinational(SMALL).replace(" nan", " nano")
    result = regress(SMALL, codes(SMALL), "icarus", build_dir=build_dir, verilog=renamed)
    assert result.violations == ("there is no port nan",)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("kind", ["vcd", "fst"])
def test_waves_are_written_on_request(simulator: str, kind: str, build_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"waves.{kind}"
    regress(SMALL, codes(SMALL), simulator, waves=path, build_dir=build_dir, verilog=combinational(SMALL))
    assert path.stat().st_size > 1000
    assert (b"$enddefinitions" in path.read_bytes()) == (kind == "vcd")
    if kind == "fst":  # the first block is the header, of 329 bytes
        assert path.read_bytes()[:9] == bytes([0]) + (329).to_bytes(8, "big")


def test_without_lz4_the_fst_writer_of_verilator_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(MissingTool, match=r"needs lz4; install it with: apt-get install liblz4-1"):
        waves = tmp_path / "never.fst"
        regress(SMALL, codes(SMALL), "verilator", waves=waves, build_dir=tmp_path, verilog=combinational(SMALL))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_waves_of_a_format_that_is_not_written_are_refused(simulator: str, build_dir: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in \.vcd or \.fst"):
        regress(SMALL, codes(SMALL), simulator, waves="waves.txt", build_dir=build_dir)


@pytest.mark.slow
def test_a_design_is_built_once_also_by_concurrent_runs(tmp_path: Path) -> None:
    design = combinational(SMALL)

    def run(seed: int) -> bool:
        return regress(SMALL, codes(SMALL), "icarus", seed=seed, build_dir=tmp_path, verilog=design).passed

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(run, range(3)))
    (built,) = tmp_path.iterdir()
    before = built.stat().st_mtime_ns
    assert run(3)
    assert list(tmp_path.iterdir()) == [built] and built.stat().st_mtime_ns == before
