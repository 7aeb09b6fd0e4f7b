"""The generated SystemVerilog: types and labels in place of slices and numbers, and tools that read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.rtl.export.texts import LINT, catalogue, icarus, of_each_kind, said, verilator

from fp9.units import CATALOGUE, Unit
from fp9_rtl import verilog
from fp9_rtl.export.verilog import verilog_files
from fp9_rtl.tools.yosys import run_yosys


@catalogue
def test_systemverilog_names_what_is_chosen_and_what_travels_together(unit: Unit) -> None:
    text = verilog(unit, system=True)
    assert not re.search(r"^  *(?:input +|output +)?(?:wire|reg) |always @\(", text, re.MULTILINE)
    types = re.findall(r"^} (\w+);$", text, re.MULTILINE)
    assert len(types) == len(set(types))
    assert [name for name in types if text.count(f" {name} ") < 1] == [], "a type of nothing"
    for port in (*unit.inputs, *unit.outputs):
        label = f"{unit.name}_\\w*{port.name.rpartition('_')[2]}_t"
        if port.choices:
            assert re.search(rf"^  input  {label} {port.name},?$", text, re.MULTILINE)
        if port.name == "flags":
            assert f"  output {unit.name}_flags_t flags" in text
    for fields in re.findall(r"^typedef struct packed {\n(.*?)^}", text, re.MULTILINE | re.DOTALL):
        assert fields.count(";") > 1
    assert max(map(len, text.splitlines())) <= 120


def test_systemverilog_has_fields_and_labels_in_place_of_slices_and_numbers() -> None:
    text = verilog(CATALOGUE["mac_dlfloat16"], system=True)
    for line in (
        "typedef enum logic [1:0] {",
        "  MAC_DLFLOAT16_OP_ACCUMULATE = 2'd0,",
        "    .product(pipeline_payload_product),",
        "    case (select)",
        "      MAC_DLFLOAT16_FORMAT_E5M2: subnormal = code[6:2] == 5'd0;",
        "always_ff @(posedge clk) begin",
        "always_comb",
    ):
        assert line in text, line


@pytest.mark.every(2)
@of_each_kind
def test_every_tool_reads_the_systemverilog_in_silence(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "unit.sv").write_text(verilog(unit, system=True))
    assert "%Warning" not in said(verilator(), *LINT, "unit.sv", folder=tmp_path)
    assert said(icarus(), "-Wall", "-g2012", "-t", "null", "unit.sv", folder=tmp_path) == ""
    run_yosys(f"read_verilog -sv unit.sv\nhierarchy -check -top {unit.name}\n", tmp_path)


def test_each_file_of_systemverilog_includes_its_types(tmp_path: Path) -> None:
    unit = CATALOGUE["mac_dlfloat16"]
    for file, text in verilog_files(unit, system=True).items():
        (tmp_path / file).write_text(text)
    files = (tmp_path / f"{unit.name}.f").read_text().split()
    assert len(files) > 5 and all('_types.svh"' in (tmp_path / file).read_text() for file in files)
    assert "%Warning" not in said(verilator(), "--lint-only", "-Wall", "-f", f"{unit.name}.f", folder=tmp_path)
    assert said(icarus(), "-Wall", "-g2012", "-t", "null", *files, folder=tmp_path) == ""
    run_yosys(f"read_verilog -sv {' '.join(files)}\nhierarchy -check -top {unit.name}\n", tmp_path)
