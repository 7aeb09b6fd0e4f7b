"""The study of energy: its page and pictures are those of its record, and the record is of units as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cells import needs_cells
from tests.rosters import thinned

from fp9.units import CATALOGUE, Unit
from fp9_rtl import circuit_digest
from fp9_rtl.synthesis.libraries import LIBRARIES, SIDE_BY_SIDE, library
from fp9_sim.energy import pages, study

FOLDER = Path(__file__).parents[3] / "docs/study"
RECORD = study.read(FOLDER)


def test_the_page_is_made_of_the_record() -> None:
    assert (FOLDER / "energy.md").read_text() == pages.page(RECORD), f"write it anew with `{study.COMMAND}`"


IN_THE_CATALOGUE = [unit for unit in study.UNITS.values() if unit in CATALOGUE.values()]
OTHERS = [unit for unit in study.UNITS.values() if unit not in IN_THE_CATALOGUE]


@pytest.mark.every(11)
@pytest.mark.parametrize("unit", [*IN_THE_CATALOGUE, *thinned(OTHERS)], ids=lambda unit: unit.name)
def test_what_was_measured_is_the_circuit_of_today(unit: Unit) -> None:
    assert study.lacks(unit, RECORD, circuit_digest(unit)) is None, f"write it anew with `{study.COMMAND}`"


def test_every_row_of_the_study_is_measured_in_both_libraries() -> None:
    rows = study.rows_of(RECORD)
    measured = [(row["group"], row["label"], row["unit"], row["library"], row["data"]) for row in rows]
    assert measured == [
        (row.group, row.label, row.unit.name, name, data)
        for row in study.ROWS
        for name in SIDE_BY_SIDE
        for data in (study.LAYER, study.RANDOM)
    ]
    assert all(row["operations"] >= 10_000 for row in rows)


with_libraries = needs_cells(*SIDE_BY_SIDE)


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_the_libraries_are_those_of_the_record(name: str) -> None:
    if not LIBRARIES[name].file.path().is_file():
        pytest.skip(f"{name} is not installed; {LIBRARIES[name].file.install}")
    assert RECORD["libraries"][name] == library(name).sha256


def test_losses_are_those_of_the_training_record() -> None:
    training = json.loads((FOLDER.parent / "recipes/training.json").read_text())
    assert RECORD["losses"] == study.losses(training)


@pytest.mark.slow
@with_libraries
def test_units_of_other_circuits_alone_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    changed, other = list(study.UNITS)[3:5]
    part = {**RECORD["units"][changed], "circuit_sha256": "0" * 64}
    known = {**RECORD, "units": {**RECORD["units"], changed: part}}
    del known["units"][other]
    asked: list[str] = []

    def again(unit: Unit, layer: object) -> study.Part:
        asked.append(unit.name)
        return study.Part(unit.name, circuit_digest(unit), tuple(RECORD["units"][unit.name]["energies"]), 1.0, {})

    monkeypatch.setattr(study, "measured", again)
    found = study.run(lambda unit: {}, known, FOLDER.parent / "recipes/training.json")
    assert asked == [changed, other]
    assert pages.page(found) == pages.page(RECORD)
    assert study.run(lambda unit: {}, known | {"libraries": {}})["losses"] == {}
    assert asked[2:] == list(study.UNITS), "figures of other libraries do not stand beside these"


def test_a_record_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / study.RECORD).write_text('{"rows": []}')
    with pytest.raises(ValueError, match="is no record of energies; write it anew with"):
        study.read(tmp_path)


def test_pictures_name_what_they_show() -> None:
    charts = pages.charts(RECORD)
    assert set(charts) == {"energy.svg", "energy-accuracy.svg"}
    for row in study.ROWS:
        assert row.label.replace(">", "&gt;") in charts["energy.svg"]
        assert not row.recipe or row.recipe in charts["energy-accuracy.svg"]
