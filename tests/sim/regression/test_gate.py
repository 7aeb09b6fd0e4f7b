"""One command gates edited RTL: it finds planted faults, and says what it exercised."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from fp9.cli import main
from fp9.units.toml import load
from fp9_rtl import verilog

UNIT = "cast_fp32_ocp_rne"
SETTINGS = ["--set", "stages=3"]


def _text(stages: int = 3) -> str:
    return verilog(load(UNIT, [f"stages={stages}"]))


def _in_register(number: int, good: str, bad: str) -> Callable[[], str]:
    def edited() -> str:
        before, head, module = _text().partition(f"module {UNIT}_pipeline_register{number}(")
        assert good in module
        return before + head + module.replace(good, bad, 1)

    return edited


def _replaced(good: str, bad: str) -> Callable[[], str]:
    def edited() -> str:
        assert good in _text()
        return _text().replace(good, bad)

    return edited


FAULTS: dict[str, tuple[Callable[[], str], str]] = {
    "lost result under back-pressure": (_in_register(3, "else if (i_ready)", "else"), "before it was taken"),
    "missing reset of a middle valid": (_in_register(2, "if (rst)", "if (1'b0)"), "out_valid is x"),
    "missing reset of the last valid": (_in_register(3, "if (rst)", "if (1'b0)"), "is x"),
    "wrong latency": (lambda: _text(2), "comes 2 clocks after its operation; the unit takes 3"),
    "sticky": (_replaced("place_lost_by_1 | before_place_sticky", "place_lost_by_1"), "result expected"),
    "saturation boundary": (_replaced("> 9'h8e", "> 9'h8f"), "result expected"),
    "NaN code": (_replaced("x ? 8'hff : 8'h7f", "x ? 8'h7f : 8'h7f"), "result expected 0xff (NaN), got 0x7f"),
}
"""Seven faults: how each is planted, and a part of the sentence that names it."""


def _sim(folder: Path, text: str, *more: str) -> Result:
    (folder / "edited.v").write_text(text)
    return CliRunner().invoke(main, ["sim", UNIT, *SETTINGS, "--verilog", str(folder / "edited.v"), *more])


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_command_without_options_finds_the_fault(
    fault: str, build_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(build_dir)
    planted, says = FAULTS[fault]
    done = _sim(tmp_path, planted())
    assert done.exit_code == 1, done.output
    assert says in " ".join(done.stdout.split())


@pytest.mark.slow
def test_a_sound_unit_passes_with_a_proof_and_reports(
    build_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(build_dir)
    reports = ["--junit", str(tmp_path / "r.xml"), "--html", str(tmp_path / "r.html")]
    done = _sim(tmp_path, _text(), "--simulator", "icarus", "--first", "200", "--prove", "90", *reports)
    assert done.exit_code == 0, done.output
    suite = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    names = [case.get("name") for case in suite]
    assert "proof: values" in names
    assert "resets of two to four clocks" in names
    assert "passed" in (tmp_path / "r.html").read_text()


@pytest.mark.slow
def test_a_proof_that_reaches_no_verdict_is_no_pass(
    build_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(build_dir)
    text = _text().replace("wire", "wire ", 1)  # no verdict of this text is cached
    done = _sim(tmp_path, text, "--simulator", "icarus", "--first", "20", "--prove", "0.01", "--json")
    assert done.exit_code == 1
    (run,) = json.loads(done.stdout)
    assert run["passed"]
    assert "proven" in run["proof"]
    assert not run["proof"]["proven"]
