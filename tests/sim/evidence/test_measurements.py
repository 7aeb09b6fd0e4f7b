"""Studies and comparisons are listed with their state and the command that measures them again."""

from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9_sim import evidence, records
from fp9_sim.evidence import measurements, studies
from fp9_sim.evidence.claim import State

ROOT = Path(__file__).parents[3]

FIELDS = {
    "unit": "decoders",
    "spec": [],
    "circuit_sha256": None,
    "seconds": 1.0,
    "provenance": {"date": "2026-11-25", "command": "fp9 records study decoders", "yosys": "0.7"},
    "forms": {},
    "skipped": [],
    "figures": [
        {"label": "e5m2", "library": "osu018", "mapping": "area-optimised", "area_um2": 1.0, "nand2": 1.0}
        | {"flip_flops": 0, "delay_ns": 1.0}
    ],
}


def states(folder: Path, compare: bool = False) -> dict[str, State]:
    return {found.file: found.finding.state for found in measurements.status(folder, compare)}


def test_what_is_not_recorded_is_missing(tmp_path: Path) -> None:
    found = states(tmp_path)
    assert len(found) == len(studies.KINDS) + len(measurements.COMPARISONS)
    assert set(found.values()) == {State.MISSING}


def test_a_study_is_stale_if_a_circuit_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records.write(tmp_path, records.STUDY, FIELDS)
    place = "study/decoders.json"
    assert states(tmp_path)[place] is State.VALID
    monkeypatch.setattr(studies.fp9_rtl, "circuit_digest", lambda unit: "0" * 64)
    assert states(tmp_path)[place] is State.VALID
    assert states(tmp_path, compare=True)[place] is State.STALE


def test_status_names_the_command_of_a_missing_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "status", lambda units, folder, claims, progress: [])
    (tmp_path / "identify").mkdir()
    (tmp_path / "identify" / "random.json").write_text("[[1]]")
    done = CliRunner().invoke(main, ["records", "status", "--records", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    listed = {each["record"]: each for each in json.loads(done.output)}
    assert "trials presets --out records/identify/presets.json" in listed["identify/presets.json"]["command"]
    assert listed["identify/random.json"]["state"] == State.VALID.value
    done = CliRunner().invoke(main, ["records", "status", "--records", str(tmp_path)])
    assert (
        f"1 of {len(studies.KINDS) + len(measurements.COMPARISONS)} studies and comparisons are recorded" in done.output
    )


@pytest.mark.parametrize("command", measurements.COMPARISONS.values())
def test_the_command_of_a_comparison_exists(command: str) -> None:
    program, first, *rest = shlex.split(command)
    if program == "make":
        assert f"\n{first}:" in (ROOT / "Makefile").read_text()
    elif first == "-m":
        assert importlib.util.find_spec(rest[0]) is not None
    else:
        assert program == "python" and (ROOT / first).is_file()


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '[{"engine": "a"}, {"eng'])
def test_a_damaged_comparison_is_refused_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(evidence, "status", lambda units, folder, claims, progress: [])
    (tmp_path / "identify").mkdir()
    (tmp_path / "identify" / "random.json").write_text(text)
    done = CliRunner().invoke(main, ["records", "status", "--records", str(tmp_path)])
    assert done.exit_code != 0
    assert "random.json is no valid record" in done.output and "trials random" in done.output
