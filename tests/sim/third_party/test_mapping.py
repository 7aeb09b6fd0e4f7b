"""Mappings: what does not fit is one sentence that names the key, or the user's file and line; drafts of them."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest
from tests.sim.third_party.acme import acme_design

from fp9.units import CATALOGUE
from fp9_rtl import verilog
from fp9_sim.third_party import check_rtl, draft, load


def test_a_mac_without_valid_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.v").write_text("")
    path = tmp_path / "m.toml"
    path.write_text('files = ["m.v"]\ntop = "m"\nunit = "mac_fp32"\nlatency = 1\n[clock]\nport = "clk"\n')
    with pytest.raises(ValueError, match=r"give handshake\.in_valid"):
        load(path)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("color = 1", "has a field 'color'"),
        ("[parameters]\nW = 1.5", "parameters.W = 1.5 given; give a number, a text or"),
        ("[held]\nx = 1.1", "held.x = 1.1 given, which bf16 has not; give another"),
        ("[defines]\nW = [1]", r"defines.W = \[1\] given; give a number, a text, or true"),
        ("[held]\nx = 65536", "held.x = 65536 given; give a number such as 1.0, or bits from 0 to 0xffff"),
        ("[enable]\nactive = 'high'", "enable.port None given; give a Verilog name"),
        ("handshake = 3", "handshake = 3 given"),
        ('nan = "some"', "nan 'some' given; give any or canonical"),
        ("[handshake]\nout_valid = 'v'", "handshake given without in_valid"),
    ],
)
def test_a_mapping_that_says_something_else_is_one_sentence(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        load(acme_design(tmp_path, more))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("test_en_i = 0", ""), "nothing drives test_en_i, an input of acme_quant; name it in"),
        (("test_en_i = 0", "test_en_i = 2"), "constants.test_en_i = 2 given; test_en_i has 1 bits"),
        (('"q_o"', '"q"'), "ports.result = 'q' given, and there is no port q; it has CLOCK_I"),
        (('"q_o"', '"q_o[6:0]"'), r"ports.result = q_o\[6:0\] given, of 7 bits; result of the spec has 8"),
        (('"q_o"', '"q_o[8:1]"'), "and q_o has no such part"),
        (("test_en_i = 0", "test_en_i = 0\nq_o = 0"), "names q_o, which is an output; name an input"),
        (("test_en_i = 0", "test_en_i = 0\nbf_i = 3"), "constants and ports.x both drive bf_i; name it once"),
        (('files = ["acme_quant.sv"]', 'files = ["none_*.sv"]'), "files has 'none_\\*.sv', and no file matches"),
    ],
)
def test_a_connection_that_does_not_fit_is_one_sentence(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    path = acme_design(tmp_path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(ValueError, match=says):
        check_rtl(load(path), count=100)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('kind = "cast"', 'kind = "casts"'), "unit: kind 'casts' given; give one of"),
        (('source = "bf16"', 'source = "bf17"'), "bf17"),
        (('targets = ["e4m3"]', ""), "unit: cast needs the field 'targets'"),
        (('roundings = ["rne"]', 'roundings = ["evenly"]'), "evenly"),
        (("[unit]", '[result]\nformat = "e4m3"\n[unit]'), "narrows the sum of an fma or a dot; unit is a cast"),
    ],
)
def test_a_wrong_spec_names_the_mapping(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    path = acme_design(tmp_path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(ValueError, match=rf"^{path}: .*{says}"):
        load(path)


@pytest.mark.slow
def test_comments_of_older_files_and_headers_of_branches_not_taken_do_no_harm(tmp_path: Path) -> None:
    path = acme_design(tmp_path)
    unit = tmp_path / "acme_quant.sv"
    older = '// Größe\n`ifdef NEVER\n`include "none.svh"\n`endif\n/* verilator lint_on WIDTH */\n'
    unit.write_bytes(older.encode("latin-1") + unit.read_bytes())
    assert check_rtl(load(path), count=100).passed
    unit.write_text('`include "none.svh"\n' + unit.read_text(encoding="latin-1"))
    with pytest.raises(ValueError, match=r"acme_quant\.sv:1:.*none\.svh"):
        check_rtl(load(path), count=100)


@pytest.mark.parametrize(
    ("ports", "says"),
    [
        (
            "input struct { logic [7:0] bits; } code, output [15:0] wide",
            "top has a port that is an unpacked struct; give",
        ),
        ("input [7:0] code, output [13:0] wide", r"wide given, of 14 bits; .* has 16; set its \[parameters\], or"),
        ("input [7:0] code, output [19:0] wide", r"of 20 bits; .* name a part such as wide\[15:0\], or"),
    ],
)
def test_ports_of_another_kind_are_one_sentence(tmp_path: Path, ports: str, says: str) -> None:
    (tmp_path / "top.sv").write_text(f"module top({ports}); assign wide = 0; endmodule\n")
    path = tmp_path / "top.toml"
    path.write_text(
        'files = ["top.sv"]\ntop = "top"\nwithout = ["flags"]\n[unit]\nkind = "upcast"\nformats = ["e5m2"]\n'
        'result = "fp16"\n[ports]\nresult = "wide"\n'
    )
    with pytest.raises(ValueError, match=f"^{path}: .*{says}"):
        check_rtl(load(path))


def test_an_error_names_the_users_line(tmp_path: Path) -> None:
    path = acme_design(tmp_path, flush="1'b0; this is no Verilog")
    line = next(
        i for i, text in enumerate((tmp_path / "acme_quant.sv").read_text().split("\n"), 1) if "no Veri" in text
    )
    with pytest.raises(ValueError, match=rf"acme_quant\.sv:{line}:"):
        check_rtl(load(path), count=100)


def test_a_mapping_is_drafted_from_the_ports(tmp_path: Path) -> None:
    acme_design(tmp_path)
    text = draft([tmp_path / "acme_quant.sv"])
    said = tomllib.loads(text)
    assert (said["top"], said["clock"]["port"], said["reset"]) == (
        "acme_quant",
        "CLOCK_I",
        {"port": "RESET_NI", "active": "low"},
    )
    assert '# ? = "bf_i"  # input, 16 bits' in text


HIERARCHY = {
    "leaf.v": "module leaf(input [7:0] x, output [7:0] y); assign y = x; endmodule\n",
    "unit.v": "module unit(input clk, input [7:0] x, output [7:0] y); wire [7:0] z; leaf u(x, z); hold h(clk, z, y);\n"
    "endmodule\nmodule hold(input clk, input [7:0] d, output reg [7:0] q); always @(posedge clk) q <= d; endmodule\n",
}


@pytest.mark.parametrize("order", [["leaf.v", "unit.v"], ["unit.v", "leaf.v"]])
def test_a_hierarchy_is_drafted_with_its_real_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: list[str]
) -> None:
    for name, text in HIERARCHY.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    said = tomllib.loads(draft([*order]))
    assert said["top"] == "unit"
    assert said["files"] == [str(tmp_path / name) for name in order]
    elsewhere = tmp_path / "elsewhere" / "mapping.toml"
    elsewhere.parent.mkdir()
    ports = '[ports]\ncode = "x"\nresult = "y"\n[clock]\nport = "clk"\n'
    unit = '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n'
    elsewhere.write_text(f'files = {said["files"]}\ntop = "{said["top"]}"\nwithout = ["flags"]\n{unit}{ports}')
    assert "module leaf" in load(elsewhere).verilog


def test_fp9s_own_text_of_several_modules_is_drafted_with_its_real_top(tmp_path: Path) -> None:
    unit = dataclasses.replace(CATALOGUE["cast_fp32"], name="mine", stages=3)
    (tmp_path / "mine.v").write_text(verilog(unit))
    assert tomllib.loads(draft([tmp_path / "mine.v"]))["top"] == "mine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HIERARCHY["unit.v"], r"^acme.v: no module leaf; give the file that has it, too"),
        ("module a; endmodule\nmodule b; endmodule\n", "modules that no other one uses: a, b; name one with --top"),
        ("// nothing\n", "acme.v has no module"),
    ],
)
def test_files_that_make_no_draft_are_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "acme.v").write_text(text)
    with pytest.raises(ValueError, match=says):
        draft([tmp_path / "acme.v"])


def test_a_mapping_names_a_unit_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = acme_design(tmp_path)
    text = path.read_text()
    table = text.partition("[unit]\n")[2].partition("[ports]")[0]
    (tmp_path / "mine.toml").write_text(f'name = "mine"\nstages = 0\n{table}')
    path.write_text(text.replace(f"[unit]\n{table}", "").replace("latency = 2", 'latency = 2\nunit = "mine.toml"'))
    monkeypatch.chdir("/")
    assert load(path).spec.describe()[1] == "name: check_acme_quant"
