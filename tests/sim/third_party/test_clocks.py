"""Clocked third-party designs: latency given and inferred, edges, resets, enables and handshakes."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from tests.sim.third_party.acme import acme_design
from tests.support.rosters import thinned

from fp9.formats import Rounding, format
from fp9.units import Cast
from fp9_rtl import verilog
from fp9_sim import SIMULATORS
from fp9_sim.third_party import check_rtl, load


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_third_party_pipeline_passes(tmp_path: Path, build_dir: Path, simulator: str) -> None:
    verdict = check_rtl(load(acme_design(tmp_path)), simulator, count=500, build_dir=build_dir)
    assert verdict.passed, verdict
    assert verdict.checked > 500


@pytest.mark.slow
@pytest.mark.parametrize(("latency", "simulator"), thinned(itertools.product([(9, True), (8, False)], SIMULATORS)))
def test_a_pipeline_may_be_longer_than_ours(
    tmp_path: Path, build_dir: Path, latency: tuple[int, bool], simulator: str
) -> None:
    """Seven clocks of the result's own behind the two of the unit."""
    clocks, passes = latency
    mapping = acme_design(tmp_path)
    text = (tmp_path / "acme_quant.sv").read_text()
    late = "logic [0:6][7:0] late; always_ff @(posedge CLOCK_I) late <= {late[1:6], q_early}; assign q_o = late[0];"
    text = text.replace("q_o <=", "q_early <=").replace(
        "    logic [7:0]  q_d;", f"    logic [7:0]  q_d, q_early;\n    {late}"
    )
    (tmp_path / "acme_quant.sv").write_text(text)
    mapping.write_text(mapping.read_text().replace("latency = 2", f"latency = {clocks}"))
    assert check_rtl(load(mapping), simulator, count=500, build_dir=build_dir).passed == passes


@pytest.mark.slow
@pytest.mark.parametrize("simulator", thinned(SIMULATORS, 2))
def test_parameters_included_files_and_a_falling_clock_are_taken(
    tmp_path: Path, build_dir: Path, simulator: str
) -> None:
    """The unit rounds to even with RND_EVEN alone; the expression for it stands in a header of another folder."""
    path = acme_design(tmp_path, 'include = ["headers"]', up='RND_EVEN == 7 ? (\n`include "even.svh"\n) : half')
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "even.svh").write_text("half && (sticky || kept[0])\n")
    unit = tmp_path / "acme_quant.sv"
    unit.write_text(unit.read_text().replace("posedge CLOCK_I", "negedge CLOCK_I"))
    falling = path.read_text().replace('port = "CLOCK_I"', 'port = "CLOCK_I"\nedge = "falling"')
    path.write_text(falling + "[parameters]\nRND_EVEN = 7\n")
    assert check_rtl(load(path), simulator, count=500, build_dir=build_dir).passed
    path.write_text(falling)
    assert not check_rtl(load(path), simulator, count=500, build_dir=build_dir).passed


@pytest.mark.slow
@pytest.mark.parametrize("simulator", thinned(SIMULATORS, 2))
def test_a_handshake_of_its_own_is_driven(tmp_path: Path, build_dir: Path, simulator: str) -> None:
    cast = Cast("theirs", format("fp16"), (format("hif8"),), (Rounding.RNA,), stages=2)
    names = {"in_valid": "valid_i", "in_ready": "ready_o", "out_valid": "valid_o", "out_ready": "ready_i"}
    text = verilog(cast)
    for ours, theirs in names.items():
        text = re.sub(rf"\b{ours}\b", theirs, text)
    pins = ", ".join(f".{name}({name})" for name in ("clk", "rst", "x", "overflow", "result", "flags", *names.values()))
    shell = (
        "module shell(input clk, input rst, input [15:0] x, input overflow, output [7:0] result, output [4:0] flags,\n"
        "  input valid_i, output busy_o, output valid_o, input ready_i);\n"
        f"  wire ready_o; assign busy_o = !ready_o; theirs unit({pins});\nendmodule\n"
    )
    (tmp_path / "theirs.v").write_text(text + shell)
    names["in_ready"] = "!busy_o"
    mapping = tmp_path / "theirs.toml"
    mapping.write_text(
        'files = ["theirs.v"]\ntop = "shell"\nlatency = 2\n[handshake]\n'
        + "".join(f'{ours} = "{theirs}"\n' for ours, theirs in names.items())
        + '[clock]\nport = "clk"\n[reset]\nport = "rst"\n'
        '[unit]\nkind = "cast"\nsource = "fp16"\ntargets = ["hif8"]\nroundings = ["rna"]\n'
    )
    assert check_rtl(load(mapping), simulator, count=500, build_dir=build_dir).passed
    mapping.write_text(mapping.read_text().replace("latency = 2\n", ""))
    verdict = check_rtl(load(mapping), simulator, count=500, build_dir=build_dir)
    assert verdict.passed
    assert verdict.latency is None


ENABLED = """\
module acme_hold (input clk_i, input stall, input [7:0] code, output reg [15:0] wide);
    reg [7:0] first;
    always @(posedge clk_i) if (@go) begin
        first <= code;
        wide <= {first, 8'h00};  // E5M2 to FP16
    end
endmodule
"""


@pytest.mark.slow
@pytest.mark.parametrize(("simulator", "active"), [("verilator", "high"), ("icarus", "low")])
def test_a_unit_with_an_enable_waits(tmp_path: Path, build_dir: Path, simulator: str, active: str) -> None:
    """E5M2 is the upper half of FP16: all codes but NaN, whose payload stays. Its latency is found out."""
    (tmp_path / "acme_hold.v").write_text(ENABLED.replace("@go", "stall" if active == "high" else "!stall"))
    path = tmp_path / "hold.toml"
    path.write_text(
        'files = ["acme_hold.v"]\ntop = "acme_hold"\nnan = "any"\nwithout = ["flags"]\n'
        '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n'
        '[ports]\nresult = "wide"\n[clock]\nport = "clk_i"\n[enable]\nport = "stall"\n'
        f'active = "{active}"\n'
    )
    verdict = check_rtl(load(path), simulator, build_dir=build_dir)
    assert verdict.passed, verdict
    assert (verdict.latency, verdict.checked) == (2, 256)


@pytest.mark.slow
def test_results_in_the_clock_of_their_operands_are_told(tmp_path: Path) -> None:
    (tmp_path / "acme.v").write_text(
        "module acme(input clk, input [7:0] code, output [15:0] wide); assign wide = {code, 8'd0}; endmodule\n"
    )
    path = tmp_path / "acme.toml"
    path.write_text(
        'files = ["acme.v"]\ntop = "acme"\nnan = "any"\nwithout = ["flags"]\n'
        '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n'
        '[ports]\nresult = "wide"\n[clock]\nport = "clk"\n'
    )
    with pytest.raises(ValueError, match="results come in the clock of their operands; give latency = 0"):
        check_rtl(load(path))
    path.write_text("latency = 0\n" + path.read_text())
    assert check_rtl(load(path)).passed


SERIAL = """\
module acme_serial (input clk_i, input rst_i, input go, output reg @done, output @busy, input [7:0] code,
    output reg [15:0] wide);
    reg [2:0] left;
    assign busy_o = left != 0;
    always @(posedge clk_i) begin
        @clear
        if (rst_i) begin left <= 0; done_o <= 0; end
        else if (go && !busy_o) begin left <= 5; done_o <= 0; end
        else if (left != 0) begin
            left <= left - 1;
            if (left == 1) begin wide <= {code, 8'h00}; done_o <= 1; end  // E5M2 to FP16, of the operand as it stands
        end
    end
endmodule
"""


def _serial(folder: Path, handshake: str, clear: str = "done_o <= 0;") -> Path:
    """The mapping of a unit that takes six clocks for an operation and reads its operand in the last one."""
    text = SERIAL.replace("@done", "done_o").replace("@busy", "busy_o").replace("@clear", clear)
    (folder / "acme_serial.v").write_text(text)
    path = folder / "serial.toml"
    path.write_text(
        'files = ["acme_serial.v"]\ntop = "acme_serial"\nnan = "any"\nwithout = ["flags"]\n'
        '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n'
        '[ports]\nresult = "wide"\n[clock]\nport = "clk_i"\n[reset]\nport = "rst_i"\n'
        f"[handshake]\n{handshake}\n"
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("clear", ["done_o <= 0;", ""])
@pytest.mark.parametrize("ready", ["", '\nin_ready = "!busy_o"'])
def test_operands_stand_until_a_serial_unit_is_done(
    tmp_path: Path, build_dir: Path, simulator: str, clear: str, ready: str
) -> None:
    """`done` for one clock, and until the next start."""
    mapping = _serial(tmp_path, f'start = "go"\ndone = "done_o"{ready}', clear)
    verdict = check_rtl(load(mapping), simulator, build_dir=build_dir)
    assert verdict.passed, verdict
    assert (verdict.checked, verdict.latency) == (256, None)


@pytest.mark.slow
def test_a_serial_unit_without_ready_is_told_what_to_give(tmp_path: Path, build_dir: Path) -> None:
    mapping = _serial(tmp_path, 'in_valid = "go"\nout_valid = "done_o"')
    (violation,) = check_rtl(load(mapping), build_dir=build_dir).violations
    assert re.match(r"acme_serial gave \d+ results for 256 operations", violation)
    assert "give handshake.in_ready, or handshake.start and handshake.done" in violation


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("", "handshake.start given alone; give both start and done"),
        ('done = "done_o"\nin_valid = "go"', "handshake.in_valid given beside handshake.start"),
        ('done = "done_o"\n[enable]\nport = "go"', r"\[enable\] given beside handshake.start"),
    ],
)
def test_a_start_that_does_not_fit_is_one_sentence(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        load(_serial(tmp_path, f'start = "go"\n{more}'))
