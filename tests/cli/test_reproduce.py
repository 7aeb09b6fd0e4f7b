"""`fp9 recipes --reproduce`: a claim is measured, shown beside its bars, and written where that is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9_ml.experiments.catalogue import CLAIMS
from fp9_ml.experiments.claims import at_most, value


def test_a_claim_is_shown_with_its_bars_and_with_what_was_not_measured() -> None:
    result = CliRunner().invoke(main, ["recipes", "--reproduce", "softmax"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert result.output.count("holds") == 3
    assert "Not reproduced" in result.output


def test_a_bar_that_fails_is_exit_code_1_and_seeds_have_a_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = CLAIMS["softmax"]
    measured = {0: 0.2, 1: 0.3}
    for limit, code in ((0.3, 0), (0.25, 1)):
        bar = at_most("error", value("error"), limit)
        changed = replace(claim, measure=lambda seed, *_: {"error": measured[seed]}, bars=(bar,))
        monkeypatch.setitem(CLAIMS, "softmax", changed)
        arguments = ["recipes", "--reproduce", "softmax", "--seed", "0", "--seed", "1"]
        result = CliRunner().invoke(main, arguments, env={"COLUMNS": "200"})
        assert result.exit_code == code
        spread = result.output.partition("Spread over 2 seeds")[2]
        assert "0.2" in spread and "0.3" in spread
        assert ("FAILS" in result.output) == (code == 1)


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
