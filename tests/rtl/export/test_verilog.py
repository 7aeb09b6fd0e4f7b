"""The generated Verilog as text: what it says about itself, and what a reader meets."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.rtl.export.texts import catalogue, text_of

from fp9.cli import main
from fp9.units import CATALOGUE, Unit
from fp9.units.toml import load
from fp9_rtl.export.text.expressions import WIDTH, Atom, Choice, Concatenation

# --- what the text says ----------------------------------------------------------------------------------------------


def modules_of(text: str) -> list[tuple[str, str]]:
    """All modules but the first: what stands above them, and their ports."""
    blocks = (module.partition("\nmodule ") for module in text.split("\nendmodule\n\n")[1:])
    return [(f"{above}\n", rest.partition(");")[0]) for above, _, rest in blocks]


@catalogue
def test_header_states_the_spec_and_every_port(unit: Unit) -> None:
    comment = text_of(unit).partition("module ")[0]
    for port in (*unit.inputs, *unit.outputs):
        width = f" [{port.width - 1}:0]" if port.width > 1 else ""
        assert f"//   {port.name}{width}: {port.doc}" in comment
        for value, name in enumerate(port.choices):
            assert f"{value} {name}" in comment


@catalogue
def test_module_has_the_ports_of_the_spec_in_order(unit: Unit) -> None:
    module = re.search(r"^module (\w+)\((.*?)\);", text_of(unit), re.MULTILINE | re.DOTALL)
    assert module is not None
    clocked = ["in_valid", "out_ready", "clk", "rst"], ["in_ready", "out_valid"]
    inputs, outputs = clocked if unit.stages else ([], [])
    expected = [p.name for p in unit.inputs] + inputs + [p.name for p in unit.outputs] + outputs
    assert module[1] == unit.name
    assert [port.split()[-1] for port in module[2].split(",")] == expected
    widths = {p.name: f"[{p.width - 1}:0] {p.name}" for p in (*unit.inputs, *unit.outputs) if p.width > 1}
    assert {name: port for name, port in widths.items() if port not in module[2]} == {}


@catalogue
def test_header_is_the_spec_that_the_file_is_made_of(unit: Unit, tmp_path: Path) -> None:
    spec = re.search(r"^// from this .*?:\n//\n(.*?)^//$", text_of(unit), re.MULTILINE | re.DOTALL)
    assert spec is not None
    (tmp_path / "unit.toml").write_text("\n".join(line.removeprefix("//") for line in spec[1].splitlines()))
    assert load(tmp_path / "unit.toml") == unit


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("decoder_ocp", "-o decoder_ocp.v"),
        ("decoder_ocp", "--flat -o decoder_ocp.v"),
        ("decoder_ocp", "--sv -o decoder_ocp.sv"),
        ("decoder_ocp", "--modules decoder_ocp --sv"),
        ("decoder_ocp", "--sv-package decoder_ocp_pkg.sv"),
        ("decoder_ocp", "--c-header decoder_ocp.h"),
        ("mac_dlfloat16", "--wrapper axis --user-bits 3 -o mac_dlfloat16_axis.v"),
    ],
)
def test_the_command_in_the_header_makes_the_text_again(
    name: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = []
    for spec in (name, f"{name}.toml"):
        result = CliRunner().invoke(main, ["rtl", spec, *options.split()])
        assert result.exit_code == 0, result.output
        made.append({path.name: path.read_bytes() for path in tmp_path.rglob(f"{name}*.*") if path.suffix != ".toml"})
        text = next(text for text in made[0].values() if b"made by fp9" in text).decode()
        assert f"  fp9 rtl {name}.toml {options}\n" in text
        said = re.findall(r"^(?://| \*)   (\w+ = .*)$", text, re.MULTILINE)
        (tmp_path / f"{name}.toml").write_text("\n".join(said))
    assert made[0] == made[1] and made[0]


# --- what a reader meets ---------------------------------------------------------------------------------------------


@catalogue
def test_no_name_is_a_number_and_no_line_is_long(unit: Unit) -> None:
    text = text_of(unit)
    assert not re.search(r"\b_\d+_|\\\\|\$\d", text)
    assert max(map(len, text.splitlines())) <= 120
    assert "lint_off" not in text


@catalogue
def test_every_module_says_what_it_does(unit: Unit) -> None:
    """The header does for the first; in front of every other one its docstring, the picture of the bits with it."""
    sentence = (inspect.getdoc(type(unit)) or "").splitlines()[0]
    assert f"\n// {sentence}\n" in text_of(unit).partition("\nmodule ")[0]
    for above, _ in modules_of(text_of(unit)):
        assert re.match(r"// (?!Inputs|Outputs)\w", above)


@catalogue
def test_every_module_lists_its_ports_with_the_layout_of_their_bits(unit: Unit) -> None:
    for above, declared in modules_of(text_of(unit)):
        said: dict[str, list[str]] = {"input": [], "output": []}
        for kind, listed in re.findall(r"^// (In|Out)puts\n((?://   .*\n)*)", above, re.MULTILINE):
            for line in re.sub(r"\n//     ", " ", listed).splitlines():
                port, _, layout = line.removeprefix("//   ").partition(": ")
                fields = [] if "[" in port or re.match(r"\d", layout) else layout.split(", ")
                said[kind.lower() + "put"] += fields if layout and fields else [port] if layout else port.split(", ")
        for kind, ports in said.items():
            own = re.findall(rf"^  {kind} +(?:reg )?((?:\[.*?\] )?)(\w+),?$", declared, re.MULTILINE)
            assert sorted(p.partition(" ")[2] for p in ports) == sorted(places.strip() for places, _ in own)
            assert all(any(name.endswith(p.split()[0]) for _, name in own) for p in ports)


def test_a_code_is_laid_out_where_it_enters_a_step_and_a_structure_field_by_field() -> None:
    text = text_of(CATALOGUE["fma_fp32_ocp"])
    for line in (
        "//     e4m3: sign [7], exponent [6:3], fraction [2:0]",
        "//     bits: invalid [4], divide_by_zero [3], overflow [2], underflow [1], inexact [0]",
        "//   product: significand [7:0], exponent [7:0], sign, zero, inf, nan, invalid",
        "//   c [31:0]: sign [31], exponent [30:23], fraction [22:0]",
        "//   select: 0 e4m3, 1 e5m2",
    ):
        assert line in text.splitlines(), line


@catalogue
def test_no_assignment_stands_twice_in_a_module(unit: Unit) -> None:
    for module in text_of(unit).split("\nmodule ")[1:]:
        values = re.findall(r"^  (?:wire .*?|assign .*?) = (.{12,});$", module, re.MULTILINE)
        assert len(values) == len(set(values)), [value for value in values if values.count(value) > 1]


@catalogue
def test_no_path_of_this_machine_and_no_tool_version_stands_in_the_text(unit: Unit) -> None:
    text = text_of(unit)
    assert str(Path(__file__).parents[3]) not in text
    assert "Yosys" not in text and ".py" not in text


def test_a_choice_within_a_choice_that_has_no_room_beside_its_condition_goes_below_it() -> None:
    long = Concatenation(tuple(Atom(f"operand_{i}_significand") for i in range(3)))
    inner = Choice(((Atom("addend_is_normal"), long),), Atom("addend_otherwise"))
    lines = Choice(((Atom("the_products_are_above_the_addend"), inner),), Atom("0")).lines("    ", 4)
    assert max(map(len, lines)) <= WIDTH and lines[0] == "the_products_are_above_the_addend ?"
