"""The command `fp9 recipes`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fp9.cli import main
from fp9_ml.recipes import RECIPES, loads, recipe


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["recipes", *arguments])


def test_every_recipe_is_listed() -> None:
    text = run().stdout
    assert {line.split()[0] for line in text.splitlines() if line.strip()} >= {*RECIPES}
    listed = json.loads(run("--json").stdout)
    assert [r["name"] for r in listed] == list(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_shown_printed_as_toml_and_read_back(name: str, tmp_path: Path) -> None:
    text = run(name, "--toml").stdout
    assert loads(text) == RECIPES[name]
    mine = tmp_path / "mine.toml"
    mine.write_text(text)
    assert run(str(mine)).stdout == run(name).stdout
    record = json.loads(run(name, "--json").stdout)
    assert record["units"] == json.loads(run(name, "--units", "--json").stdout)
    assert {k: tuple(v) for k, v in record["units"].items()} == recipe(name).units()


def test_fields_are_changed_in_the_name() -> None:
    assert json.loads(run("hfp8(wgrad=chunked(L=128))", "--json").stdout)["wgrad"] == "chunked(chunk=128)"


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["nope"], "unknown recipe 'nope'"),
        (["--units"], "name it"),
        (["hfp8(weights=fp32)"], "at most 16 bits"),
        (["missing.toml"], "missing.toml: no such file"),
    ],
)
def test_an_error_is_one_sentence(arguments: list[str], sentence: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
