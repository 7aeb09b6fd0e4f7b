"""The compiled unit as a function of arrays."""

from __future__ import annotations

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.sim.support.standins import combinational, pipelined

import fp9_rtl
from fp9.golden import evaluate
from fp9.system import cache
from fp9.units import CATALOGUE, Unit
from fp9.vectors import sets as vectors
from fp9_sim import SimulatorError, Verilated, check, verilated
from fp9_sim.batch import FEW
from fp9_sim.batch.shim import lanes

UNIT = CATALOGUE["decoder_hif8"]
ALL = np.arange(256, dtype=np.uint8)


@pytest.fixture(scope="module")
def dut() -> Verilated:
    return verilated(UNIT, verilog=combinational(UNIT), threads=2)


@pytest.mark.slow
def test_outputs_are_the_models_in_the_ports_types(dut: Verilated) -> None:
    expected = evaluate(UNIT, {"code": ALL})
    outputs = dut(code=ALL)
    assert outputs.keys() == expected.keys()
    for port in UNIT.outputs:
        assert outputs[port.name].dtype == vectors.port_dtype(port)
        np.testing.assert_array_equal(outputs[port.name], expected[port.name])


@pytest.mark.slow
def test_threads_share_the_work_and_keep_the_order(dut: Verilated) -> None:
    many = np.random.default_rng(0).integers(0, 256, 300_001, dtype=np.uint8)
    one = verilated(UNIT, verilog=combinational(UNIT), threads=1)
    for name, column in dut(code=many).items():
        np.testing.assert_array_equal(column, one(code=many)[name])


def test_other_integer_types_and_strides_are_taken(dut: Verilated) -> None:
    for column in (ALL.astype(np.int64), ALL.tolist(), np.repeat(ALL, 2)[::2]):
        np.testing.assert_array_equal(dut(code=column)["significand"], dut(code=ALL)["significand"])


def test_no_operations_give_empty_results(dut: Verilated) -> None:
    assert dut(code=ALL[:0])["sign"].shape == (0,)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({}, "nothing given; give code"),
        ({"code": ALL, "op": ALL}, "code, op given; give code"),
        ({"code": [256]}, "does not fit"),
        ({"code": [-1]}, "does not fit"),
        ({"code": [0.5]}, "holds float64; give unsigned integers"),
        ({"code": [[1]]}, "give one-dimensional ones"),
    ],
)
def test_wrong_columns_are_one_sentence(dut: Verilated, inputs: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dut(**inputs)  # type: ignore[arg-type]


@pytest.mark.slow
def test_check_finds_every_difference_that_matters() -> None:
    wrong = verilated(UNIT, verilog=combinational(UNIT, sign="~sign_of[code]"))
    found, total = check(UNIT, {"code": ALL}, dut=wrong, limit=3)
    assert total == 255  # the sign of NaN carries no meaning
    assert [mismatch.index for mismatch in found] == [0, 1, 2]
    assert str(found[1]).startswith(
        "operation 1: code = 0x01 (2.384185791015625e-07): sign expected 0x0 (0), got 0x1 (1)"
    )


@pytest.mark.slow
def test_a_pipeline_gives_one_result_for_each_operation_in_order() -> None:
    unit = dataclasses.replace(UNIT, stages=4)
    many = np.random.default_rng(1).integers(0, 256, 10_000, dtype=np.uint8)
    found, total = check(unit, {"code": many}, dut=verilated(unit, verilog=pipelined(unit)))
    assert not total, found


@pytest.mark.slow
def test_a_unit_that_gives_no_results_ends() -> None:
    unit = dataclasses.replace(UNIT, stages=1)
    stuck = verilated(unit, verilog=pipelined(unit, out_valid="full && 1'b0"))
    with pytest.raises(SimulatorError, match="gave 0 results for 256 operations"):
        stuck(code=ALL)


def _opened(kind: type[Unit]) -> Unit:
    """The unit of a kind with the fewest registers and gates: its text is the shortest."""
    stateful = [unit for unit in CATALOGUE.values() if isinstance(unit, kind) and unit.has_state]
    return min(stateful, key=lambda unit: len(fp9_rtl.verilog(unit)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({type(u) for u in CATALOGUE.values() if u.has_state}, key=lambda k: k.kind))
def test_streams_give_what_the_unit_gives_clock_by_clock(kind: type[Unit]) -> None:
    unit = _opened(kind)
    inputs = vectors.generate(unit, "random", 3000, seed=3).inputs
    streams, alone = verilated(unit, threads=2, streams=700)(**inputs), verilated(unit, operations=3000)(**inputs)
    for name, column in alone.items():
        np.testing.assert_array_equal(streams[name], column)


def _decoder(stages: int, **faults: str) -> Verilated:
    unit = dataclasses.replace(UNIT, stages=stages)
    return verilated(unit, verilog=pipelined(unit, **faults), streams=300, threads=2)


@pytest.mark.parametrize("count", [0, 1, 299, 300, 200_001])
def test_streams_keep_the_order_of_operations(count: int) -> None:
    many = np.random.default_rng(4).integers(0, 256, count, dtype=np.uint8)
    for name, column in _decoder(4)(code=many).items():
        np.testing.assert_array_equal(column, evaluate(UNIT, {"code": many})[name])


def test_streams_wait_where_the_unit_is_not_ready() -> None:
    slow = _decoder(1, in_ready="clocks[0]", next_valid="{valid, in_valid && clocks[0]}")
    np.testing.assert_array_equal(slow(code=ALL)["sign"], evaluate(UNIT, {"code": ALL})["sign"])


_LATE = {"shown": "codes[7:0] ^ {7'd0, late}"}


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({"out_valid": "full && 1'b0"}, "gave 0 results for 256 operations"),
        ({"out_valid": "full && codes[0]"}, "streams do not advance together; run without streams"),
        (
            {"power_up": "reg late; always @(negedge clk) late <= codes[0];", **_LATE},
            r"\$dff found, which depends on more than the rising edge",
        ),
        (
            {"power_up": "reg late; always @* if (in_valid) late = code[0];", **_LATE},
            r"\$ff found, which depends on more than the rising edge",
        ),
    ],
)
def test_what_streams_cannot_run_is_one_sentence(faults: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        _decoder(1, **faults)(code=ALL)


def test_fewer_than_two_streams_are_refused() -> None:
    with pytest.raises(ValueError, match="1 streams given; give 2 or more, or none"):
        verilated(UNIT, streams=1)


@pytest.fixture
def no_units(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache without units, but with what others have compiled of Verilator's own."""
    (tmp_path / "verilated").mkdir()
    for part in cache.folder("verilated").glob("verilator-*"):
        (tmp_path / "verilated" / part.name).symlink_to(part.absolute())
    monkeypatch.setenv("FP9_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_a_unit_is_compiled_once_also_by_concurrent_callers(no_units: Path) -> None:
    design = combinational(UNIT)
    with ThreadPoolExecutor(2) as pool:
        duts = list(pool.map(lambda _: verilated(UNIT, verilog=design), range(2)))
    assert {int(dut(code=[8])["significand"][0]) for dut in duts} == {8}
    started = time.perf_counter()
    verilated(UNIT, verilog=design)
    assert time.perf_counter() - started < 1
    assert len([path for path in (no_units / "verilated").iterdir() if path.name.startswith(UNIT.name)]) == 1


@pytest.mark.slow
def test_few_operations_are_not_worth_vectors_but_take_them_where_they_are(no_units: Path) -> None:
    unit = CATALOGUE["upcast_fp32"]

    def library(operations: int | None) -> Path:
        return Path(verilated(unit, operations=operations)._library._name)

    quick, many = library(FEW), library(None)
    assert [_LANES in path.with_name("compiler.log").read_text() for path in (quick, many)] == [False, True]
    assert library(FEW) == library(FEW + 1) == many


@pytest.mark.slow
def test_a_damaged_library_is_compiled_again(no_units: Path) -> None:
    (library,) = _compiled_into(no_units)
    whole = bytearray(library.read_bytes())
    damaged = whole.copy()
    damaged[1000] ^= 0x10
    library.unlink()  # this process has it loaded: other bytes belong to another file
    library.write_bytes(damaged)
    (again,) = _compiled_into(no_units)
    assert again == library
    assert again.read_bytes() == whole


def _compiled_into(folder: Path) -> list[Path]:
    """The libraries in a cache after one has been asked for."""
    assert verilated(UNIT, verilog=combinational(UNIT))(code=[8])["significand"][0] == 8
    return [*folder.glob("verilated/*/unit.so")]


def test_an_unwritable_cache_is_an_error_of_its_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FP9_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match="verilated"):
        verilated(UNIT, verilog=combinational(UNIT))


ROOT = """
    // DESIGN SPECIFIC STATE
    VL_IN8(a,7,0);
    VL_OUT16(result,15,0);
    CData/*0:0*/ __VicoFirstIteration;
    VlUnpacked<QData/*63:0*/, 1> __VicoTriggered;
    // INTERNAL VARIABLES
"""
"""The members that Verilator 5.48 gives a combinational design."""


EVALUATION = {"root.cpp": "    vlSelfRef.result = (vlSelfRef.a << 1U);\n"}


def test_operations_are_evaluated_side_by_side_only_where_the_design_keeps_nothing() -> None:
    assert '#include "root.cpp"' in lanes(ROOT, EVALUATION, "")
    kept = ROOT.replace("    // INTERNAL", "    CData/*7:0*/ unit__DOT__accumulator;\n    // INTERNAL")
    assert lanes(kept, EVALUATION, "") == ""
    assert lanes("", EVALUATION, "") == ""


def test_side_by_side_an_output_that_no_evaluation_gives_is_what_it_is_at_the_start() -> None:
    wide = ROOT.replace("    CData", "    VL_OUTW(&flags,39,0,2);\n    CData", 1)
    assert lanes(wide, EVALUATION, "") == ""
    initial = "".join(f"    vlSelfRef.{given};\n" for given in ("flags[0U] = 5U", "flags[1U] = 0x0aU", "b = 1U"))
    text = lanes(wide, EVALUATION, initial)
    assert "root.flags[0U] = 5U; root.flags[1U] = 0x0aU;" in text
    assert "root.b" not in text


def test_a_cast_reads_no_table_which_the_lanes_of_a_vector_could_not() -> None:
    """Left to itself, Verilator makes a table of how far the significand moves, and g++ 12 a loop without vectors."""
    folder = Path(verilated(CATALOGUE["cast_fp32_ocp_rne"])._library._name).parent
    evaluation = "".join(path.read_text() for path in folder.glob("Vunit___024root__*.cpp"))
    assert "___ico_sequent__" in evaluation
    assert "TABLE" not in evaluation


_LANES = "loop vectorized"


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["cast_fp32_ocp_rne", "upcast_fp32"])
def test_operations_are_lanes_of_a_vector(name: str) -> None:
    """Of the loop of upcast_fp32 g++ 12 makes none before it is told to leave partial redundancies."""
    said = Path(verilated(CATALOGUE[name])._library._name).with_name("compiler.log").read_text()
    assert "shim.cpp" in said and _LANES in said


@pytest.mark.slow
def test_a_design_that_ends_the_simulation_does_not_end_the_process() -> None:
    """A loop that does not settle for odd codes: Verilator aborts there."""
    loop = "wire x, y; assign x = ~(y & code[0]); assign y = x | code[1]; endmodule"
    design = combinational(UNIT, significand="significand_of[code * 4 +: 4] ^ {3'd0, x & y}").replace("endmodule", loop)
    with pytest.raises(SimulatorError, match=r"decoder_hif8 ends the simulation: .*did not converge"):
        verilated(UNIT, verilog=f"/* verilator lint_off UNOPTFLAT */ {design}")(code=ALL)
