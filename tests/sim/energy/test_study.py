"""The study of energy: its page and pictures are those of its record, and the record is of units as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fp9_rtl.synthesis.libraries import LIBRARIES, SIDE_BY_SIDE, library
from fp9_sim.energy import pages, study

FOLDER = Path(__file__).parents[3] / "docs/study"
RECORD = json.loads((FOLDER / "energy.json").read_text())


def test_the_page_is_made_of_the_record() -> None:
    assert (FOLDER / "energy.md").read_text() == pages.page(RECORD), f"write it anew with `{study.COMMAND}`"


def test_every_row_of_the_study_is_measured_in_both_libraries() -> None:
    measured = [(row["group"], row["label"], row["unit"], row["library"], row["data"]) for row in RECORD["rows"]]
    assert measured == [
        (row.group, row.label, row.unit.name, name, data)
        for row in study.ROWS
        for name in SIDE_BY_SIDE
        for data in (study.LAYER, study.RANDOM)
    ]
    assert all(row["operations"] >= 10_000 for row in RECORD["rows"])


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_the_libraries_are_those_of_the_record(name: str) -> None:
    if not LIBRARIES[name].file.path().is_file():
        pytest.skip(f"{name} is not installed; {LIBRARIES[name].file.install}")
    assert RECORD["libraries"][name] == library(name).sha256


def test_losses_are_those_of_the_training_record() -> None:
    training = json.loads((FOLDER.parent / "recipes/training.json").read_text())
    assert RECORD["losses"] == study.losses(training)


def test_pictures_name_what_they_show() -> None:
    charts = pages.charts(RECORD)
    assert set(charts) == {"energy.svg", "energy-accuracy.svg"}
    for row in study.ROWS:
        assert row.label.replace(">", "&gt;") in charts["energy.svg"]
        assert not row.recipe or row.recipe in charts["energy-accuracy.svg"]
