"""UVM test bench of a package: fields from the ports, accepted by a parser, and run with the golden model.

UVM_HOME names the folder of a UVM library's uvm_pkg.sv. The library is no part of the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.sim.packages.test_package import KINDS, make
from tests.support.slang import accepts

from fp9.cmodel import dpi
from fp9.units import Unit
from fp9_sim.packages import write_package
from fp9_sim.packages.uvm import uvm_package

UVM_HOME = os.environ.get("UVM_HOME", "")

with_uvm = pytest.mark.skipif(
    not Path(UVM_HOME, "uvm_pkg.sv").is_file(), reason="UVM_HOME names no folder with uvm_pkg.sv"
)


def _imported(unit: Unit) -> bool:
    try:
        return bool(dpi.source(unit))
    except ValueError:
        return False


IMPORTED = {kind: unit for kind, unit in KINDS.items() if _imported(unit)}
"""A unit of each kind whose golden model SystemVerilog can call."""


@pytest.mark.parametrize("kind", IMPORTED)
def test_a_transaction_has_the_ports_of_the_unit(kind: str) -> None:
    unit = IMPORTED[kind]
    item = uvm_package(unit).split("class ")[1]
    random = re.findall(r"^ +rand logic (?:\[(\d+):0\] )?(\w+);", item, re.MULTILINE)
    assert [(name, int(high or 0) + 1) for high, name in random] == [(p.name, p.width) for p in unit.inputs]
    results = re.findall(r"^ +logic (?:\[(\d+):0\] )?(\w+);", item, re.MULTILINE)
    assert [(name, int(high or 0) + 1) for high, name in results] == [(p.name, p.width) for p in unit.outputs]
    some = {(p.name, str(len(p.choices))) for p in unit.inputs if p.choices and len(p.choices) < 1 << p.width}
    assert set(re.findall(r"constraint offered_\w+ { (\w+) < (\d+); }", item)) == some
    coded = {p.name for p in unit.inputs if any(fmt.nan_code(False) is not None for fmt in p.formats)}
    assert coded <= set(re.findall(r"constraint special_(\w+) {", item))


@with_uvm
@pytest.mark.parametrize("kind", IMPORTED)
def test_a_systemverilog_parser_accepts_the_uvm_bench(kind: str, tmp_path: Path) -> None:
    name = IMPORTED[kind].name
    write_package(IMPORTED[kind], tmp_path, "smoke")
    (named,) = re.findall("^UVM_FILES := (.*)$", (tmp_path / "Makefile").read_text(), re.MULTILINE)
    files = [Path(UVM_HOME, "uvm_pkg.sv"), *(tmp_path / path for path in named.replace("$(TOP)", name).split())]
    assert accepts(f"-I {UVM_HOME}", "--timescale=1ns/1ns", f"--top {name}_uvm_tb", *files)


@pytest.mark.slow
@with_uvm
@pytest.mark.skipif(shutil.which("z3") is None, reason="Verilator solves constraints with z3, which is not on PATH")
@pytest.mark.parametrize("kind", ["mac"])
def test_verilator_runs_the_uvm_test(kind: str, tmp_path: Path) -> None:
    unit = IMPORTED[kind]
    write_package(unit, tmp_path, "smoke")
    solver = tmp_path / "build" / "tools" / "z3"
    solver.parent.mkdir(parents=True)
    solver.symlink_to(shutil.which("z3") or "")
    done = make(tmp_path, "uvm", f"UVM_HOME={UVM_HOME}", "UVM_ARGUMENTS=+count=50")
    assert done.returncode == 0, done.stdout + done.stderr
    vectors = [line for line in (tmp_path / "vectors" / f"{unit.name}.vec").read_text().splitlines() if line[0] != "#"]
    (checked,) = re.findall(r"^PASS: (\d+) operations$", done.stdout, re.MULTILINE)
    assert len(vectors) + 3 * 50 < int(checked) < len(vectors) + 4 * 50  # a reset cuts some operations
    _notices_a_wrong_model(tmp_path, unit)


def _notices_a_wrong_model(folder: Path, unit: Unit) -> None:
    """Exchange the shared library of the golden model for one with a wrong result, and run the bench again."""
    source = (folder / "model" / f"{unit.name}_dpi.c").read_text()
    assert source.count("*result = out.result;") == 1
    wrong = folder / "model" / "wrong.c"
    wrong.write_text(source.replace("*result = out.result;", "*result = out.result ^ 1;"))
    library = folder / "build" / f"lib{unit.name}_model.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(wrong)], check=True)
    words = [folder / "build" / "uvm_bench", "+sequence=back_to_back", "+count=5"]
    path = os.pathsep.join([str(folder / "build" / "tools"), os.environ["PATH"]])
    done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "UVM_ERROR" in done.stdout and "FAIL: 5 errors" in done.stdout
