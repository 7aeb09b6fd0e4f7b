"""The list of units marks those whose records are complete, where there are records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.cli import model as commands


def test_units_with_complete_records_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "plugin", lambda group, name: lambda: {"fma_fp32"})
    done = CliRunner().invoke(main, ["units", "--certified", "--json"])
    assert done.exit_code == 0, done.output
    assert [row["name"] for row in json.loads(done.stdout) if row["certified"]] == ["fma_fp32"]


def test_outside_a_checkout_the_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = pytest.importorskip("fp9_sim.evidence")
    monkeypatch.setattr(commands, "plugin", lambda group, name: evidence.certified_names)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["units", "--certified"])
    assert (done.exit_code, done.stderr) == (2, f"fp9: no folder {tmp_path / 'records'}; run in a checkout of fp9\n")
