"""Readable Verilog of designs in RTLIL: the same function as before, checked by Yosys."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from tests.cli.test_cli import run

from fp9_rtl import rtlil2verilog
from fp9_rtl.tools.yosys import YosysError, run_yosys

DESIGNS = {
    "gates": """
module gates(input [3:0] a, b, input c, output [3:0] y, output z);
  assign y = c ? a ~^ b : a - b; assign z = a && !b || c && (a || b);
endmodule""",
    "shifts": """
module shifts(input signed [7:0] a, input [2:0] n, output [7:0] y, output less);
  assign y = (a << n) | (a >> 1); assign less = a < 8'sd3;
endmodule""",
    "accumulate": """
module add(input [7:0] a, b, output [8:0] s); assign s = a + b; endmodule
module accumulate(input clk, input rst, input en, input [7:0] x, output reg [8:0] total);
  wire [8:0] next; add adder(.a(total[7:0]), .b(x), .s(next));
  always @(posedge clk) if (rst) total <= 0; else if (en) total <= next;
endmodule""",
}


def rtlil_of(verilog: str, folder: Path) -> str:
    (folder / "design.v").write_text(verilog)
    run_yosys("read_verilog design.v\nproc\nwrite_rtlil design.il\n", folder)
    return (folder / "design.il").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"flat": True}, {"system": True}], ids=str)
@pytest.mark.parametrize("name", DESIGNS)
def test_what_is_written_is_the_same_function(name: str, options: dict[str, bool], tmp_path: Path) -> None:
    assert proven(DESIGNS[name], rtlil2verilog(rtlil_of(DESIGNS[name], tmp_path), name, **options), name, tmp_path)


@pytest.mark.slow
def test_a_fault_in_what_is_written_is_found(tmp_path: Path) -> None:
    text = rtlil2verilog(rtlil_of(DESIGNS["shifts"], tmp_path))
    assert not proven(DESIGNS["shifts"], text.replace("<<", ">>"), "shifts", tmp_path)


def proven(verilog: str, written: str, name: str, folder: Path) -> bool:
    """Whether Yosys finds no sequence of inputs, from any equal state on, that tells two texts apart."""
    for file, text in (("gold.v", verilog), ("gate.v", written)):
        (folder / file).write_text(text)
    each = "\n".join(
        f"read_verilog -sv {file}.v\nhierarchy -top {name}\nproc\nflatten\nopt_clean\nrename {name} {file}\n"
        f"design -stash {file}"
        for file in ("gold", "gate")
    )
    copies = "\n".join(f"design -copy-from {file} {file}" for file in ("gold", "gate"))
    script = f"{each}\n{copies}\nmiter -equiv -flatten gold gate both\nhierarchy -top both\nasync2sync\ndffunmap\n"
    try:
        run_yosys(f"{script}sat -verify -seq 1 -tempinduct -prove trigger 0 -set-init-zero both\n", folder)
    except YosysError:
        return False
    return True


def test_a_design_of_amaranth_keeps_its_names() -> None:
    m, x, total = Module(), Signal(8, name="x"), Signal(8, name="total")
    m.d.sync += total.eq(total + x)
    text = rtlil2verilog(rtlil.convert(m, name="top", ports=[x, total]))
    assert "total <=" in text
    assert "total + x" in text


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    text = rtlil_of("module d(input [3:0] a, b, output [3:0] y); assign y = a / b; endmodule", tmp_path)
    with pytest.raises(ValueError, match=r"^d: cell \$div has no Verilog here; replace it in Yosys"):
        rtlil2verilog(text)
    with pytest.raises(ValueError, match="has no module"):
        rtlil2verilog("")


def test_the_command_writes_a_file_whole_or_prints(tmp_path: Path) -> None:
    (tmp_path / "in.il").write_text(rtlil_of(DESIGNS["gates"], tmp_path))
    printed = run("rtlil2verilog", tmp_path / "in.il")
    assert printed.exit_code == 0
    assert "module gates(" in printed.stdout
    written = run("rtlil2verilog", tmp_path / "in.il", "-o", tmp_path / "out.v")
    assert written.exit_code == 0
    assert (tmp_path / "out.v").read_text() in printed.stdout
    (tmp_path / "broken.il").write_text("module")
    refused = run("rtlil2verilog", tmp_path / "broken.il", "-o", tmp_path / "none.v")
    assert refused.exit_code == 2
    assert not (tmp_path / "none.v").exists()
