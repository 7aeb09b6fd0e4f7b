"""The benches and assertions of a package find damaged vectors, wrong results, and every breach of the protocol.

The unit reads a number from the file `fault` where it runs, and has that fault: one build serves all tests.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sim.packages.test_package import make, with_icarus
from tests.sim.support.faults import FAULTS, with_faults
from tests.support.programs import built, shared_library

from fp9.formats import format
from fp9.units import CATALOGUE, Division, FpuGroup, Handshake, MultiFpu, Reset
from fp9_sim.packages import write_package

UNIT = dataclasses.replace(CATALOGUE["decoder_hif8"], name="mine", stages=3)
"""Three stages, and results without meaning."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, its benches built."""
    folder = tmp_path_factory.mktemp("bench")
    write_package(UNIT, folder, "smoke")
    rtl = folder / "rtl" / f"{UNIT.name}.v"
    rtl.write_text(with_faults(UNIT, "fault"))
    with shared_library(folder / "build" / "verilated"):
        done = make(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"PASS: {_count(folder)} vectors") == 2
    assert "benches run: icarus verilator" in done.stdout
    return folder


def _count(folder: Path) -> int:
    lines = (folder / "vectors" / f"{UNIT.name}.vec").read_text().splitlines()
    return len([line for line in lines if line[0] != "#"])


def icarus(folder: Path, vectors: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = ["vvp", "-n", str(folder / "build" / f"{UNIT.name}.vvp"), f"+vectors={vectors}"]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def verilator(folder: Path, vectors: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(folder / "build" / "bench"), str(vectors)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


BENCHES = {"memh": icarus, "vec": verilator}
"""The programs by the form of the vectors that they read."""


# --- vectors --------------------------------------------------------------------------------------------------------


def _edited(old: str, new: str) -> Callable[[Path], object]:
    """Replaces a pattern in the last line."""

    def damage(path: Path) -> None:
        *lines, last = path.read_text().splitlines()
        assert re.search(old, last)
        path.write_text("\n".join([*lines, re.sub(old, new, last), ""]))

    return damage


def _cut(lines: int) -> Callable[[Path], object]:
    return lambda path: path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "is empty": (lambda path: path.write_text(""), "holds 0 vectors, not 256"),
    "is not there": (lambda path: path.unlink(), "cannot be read"),
    "ends after some lines": (_cut(18), "holds 16 vectors, not 256"),
    "ends before the last line": (_cut(-1), "holds 255 vectors, not 256"),
    "has a line twice": (lambda path: path.write_text(path.read_text() + path.read_text()[-20:]), "FAIL"),
    "ends within a line": (lambda path: path.write_bytes(path.read_bytes()[:-3]), "line 258 of"),
    "lacks the last line end": (lambda path: path.write_text(path.read_text()[:-1]), "line 258 of"),
    "is garbage": (lambda path: path.write_bytes(b"\x7fELF\xf7\x00\n" * 300), "line 1 of"),
    "has no hex digit": (_edited(".$", "g"), "line 258 of"),
    "has a column too many": (_edited("$", " 0"), "line 258 of"),
    "has an unknown operand": (_edited("^..", "xx"), "FAIL"),
    "has an unknown digit": (_edited("^.", "x"), "FAIL"),
    "has an unknown result": (_edited(".$", "x"), "FAIL"),
    "has a wrong result": (_edited("0$", "1"), f"code = ff ({format('hif8').to_float(0xFF):.9g}); nan is 0, not 1"),
}
"""What is wrong with a file of vectors, what makes it so, and what a bench says of it."""


@pytest.mark.slow
@with_icarus
@pytest.mark.parametrize("form", BENCHES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_bench_fails_where_its_file_of_vectors(damage: str, form: str, folder: Path, tmp_path: Path) -> None:
    vectors = tmp_path / f"damaged.{form}"
    shutil.copy(folder / "vectors" / f"{UNIT.name}.{form}", vectors)
    spoil, says = DAMAGES[damage]
    spoil(vectors)
    done = BENCHES[form](folder, vectors, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL: " in done.stdout
    assert says in done.stdout
    assert "PASS" not in done.stdout


@pytest.mark.slow
@with_icarus
@pytest.mark.parametrize("form", BENCHES)
def test_a_bench_finds_its_vectors_from_any_folder(form: str, folder: Path, tmp_path: Path) -> None:
    done = BENCHES[form](folder, folder / "vectors" / f"{UNIT.name}.{form}", tmp_path)
    assert (done.returncode, done.stdout.split()[0]) == (0, "PASS:")


# --- the protocol ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@with_icarus
@pytest.mark.parametrize("form", BENCHES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bench_finds_a_breach_of_the_protocol(fault: int, form: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "fault").write_text(f"{fault}\n")
    done = BENCHES[form](folder, folder / "vectors" / f"{UNIT.name}.{form}", tmp_path)
    assert done.returncode, f"{FAULTS[fault]}: {done.stdout}"
    assert "PASS" not in done.stdout


DRIVER = """// Random operations, stalls and resets of one to three clocks; nothing but the assertions judges the unit.
#include <random>

#include "Vmine.h"
#include "verilated.h"

int main() {
  std::mt19937 random(1);
  Vmine top;
  for (int clock = 0; clock < 20000; ++clock) {
    const bool stalls = clock / 100 % 2;
    top.clk = 0;
    top.rst = clock % 150 <= clock / 150 % 3;
    if (!top.in_valid || top.rst || (top.in_valid && top.in_ready)) {
      top.in_valid = !top.rst && (!stalls || random() % 2);
      top.code = random();
    }
    top.out_ready = !stalls || random() % 3 == 0;
    top.eval();
    top.clk = 1;
    top.eval();
  }
  return 0;
}
"""

ASSERTED = {
    0: None,
    1: "no_repeat|in_order",
    2: "no_repeat|in_order",
    3: "empties_in_reset",
    4: "no_loss",
    5: "no_loss",
    6: "stable_while_stalled",
    7: "no_loss",
    8: "stable_while_stalled",
    9: "no_repeat|in_order",
    12: "empties_in_reset",
}
"""The assertion that each fault breaks."""


@pytest.fixture(scope="module")
def asserted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that drives the unit with its assertions, and compares nothing."""
    place = tmp_path_factory.mktemp("assertions")
    (place / "driver.cpp").write_text(DRIVER)
    sources = [str(folder / "rtl" / f"{UNIT.name}.v"), str(folder / "tb" / f"{UNIT.name}_sva.sv"), "driver.cpp"]
    return built(place, "--assert", "-Wno-fatal", "--top-module", UNIT.name, *sources) / f"V{UNIT.name}"


@pytest.mark.slow
@pytest.mark.parametrize("fault", ASSERTED)
def test_an_assertion_names_a_breach_of_the_protocol(fault: int, asserted: Path, tmp_path: Path) -> None:
    (tmp_path / "fault").write_text(f"{fault}\n")
    done = subprocess.run([asserted], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    expected = ASSERTED[fault]
    assert bool(done.returncode) == (expected is not None), said
    assert not expected or re.search(rf"Assertion failed in .*\.({expected})\b", said), said


# --- other handshakes, and tools that are not there ------------------------------------------------------------------


OTHERS = {
    "never waits": dataclasses.replace(UNIT, handshake=Handshake.VALID, reset=Reset.ASYNC_LOW, enable=True),
    "divides in several clocks": MultiFpu(
        "divider", (format("hif8"),), (FpuGroup.NONCOMP, FpuGroup.DIVSQRT), stages=2, division=Division.ITERATIVE
    ),
    "gives blocks": dataclasses.replace(CATALOGUE["quantiser_nvfp4"], name="blocks", stages=2, lanes=2),
}


@pytest.mark.slow
@with_icarus
@pytest.mark.parametrize("what", OTHERS)
def test_the_benches_of_a_unit_pass_that(what: str, tmp_path: Path) -> None:
    write_package(OTHERS[what], tmp_path, "smoke")
    with shared_library(tmp_path / "build" / "verilated"):
        done = make(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASS") == 2


@with_icarus
def test_make_goes_on_without_verilator_and_fails_without_any_simulator(tmp_path: Path) -> None:
    write_package(CATALOGUE["decoder_hif8"], tmp_path, "smoke")
    done = make(tmp_path, "VERILATOR=no-verilator")
    assert done.returncode == 0, done.stderr
    assert "benches run: icarus\n" in done.stdout
    done = make(tmp_path, "VERILATOR=no-verilator", "IVERILOG=no-iverilog")
    assert done.returncode
    assert "install Icarus or Verilator" in done.stderr
