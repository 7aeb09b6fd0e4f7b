"""`fp9 recipes --reproduce`: a claim is measured, shown beside its bars, and written where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9_ml.experiments.catalogue import CLAIMS


def test_a_claim_is_shown_with_its_bars_and_with_what_was_not_measured() -> None:
    result = CliRunner().invoke(main, ["recipes", "--reproduce", "softmax"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert result.output.count("holds") == 3
    assert "Not reproduced" in result.output


def test_the_help_names_every_claim() -> None:
    shown = " ".join(CliRunner().invoke(main, ["recipes", "--help"]).output.split())
    assert f"{', '.join(list(CLAIMS)[:-1])} or {list(CLAIMS)[-1]}." in shown


@pytest.mark.slow
def test_a_record_and_a_chart_are_written_and_nothing_else_stays(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = CliRunner().invoke(main, ["recipes", "--reproduce", "softmax", "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads((tmp_path / "softmax.json").read_text())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["softmax.json", "softmax.svg"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--reproduce", "nothing"], "choose one of ptq"),
        (["hfp8", "--reproduce", "ptq"], "leave RECIPE"),
        (["--seed", "3"], "are for --reproduce"),
    ],
)
def test_bad_combinations_are_told_in_a_sentence(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["recipes", *arguments])
    assert result.exit_code != 0 and told in " ".join(result.output.split())
