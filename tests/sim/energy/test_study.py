"""The study of energy: units of other circuits are measured again, and the pictures name what they show."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.support.cells import needs_cells

from fp9.units import Unit
from fp9_rtl import circuit_digest
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, library
from fp9_sim.energy import pages, study
from fp9_sim.energy.run import NOTE


def energies(unit: str) -> list[dict[str, Any]]:
    """Energies of a unit in each library over each kind of data, the totals growing with the length of its name."""
    parts = ("internal_fj", "nets_fj", "inputs_fj", "clock_fj", "glitches_fj", "leakage_fj")
    fixed: dict[str, Any] = {
        "unit": unit,
        "mapping": "delay-balanced",
        "operations": 10240,
        "products": 1,
        "period_ns": 5.0,
    }
    figures = {"toggles": 300.0, "glitches": 20.0} | dict.fromkeys(parts, float(len(unit)))
    total = {"total_fj": 6.0 * len(unit), "product_fj": 6.0 * len(unit)}
    pairs = itertools.product(SIDE_BY_SIDE, (study.LAYER, study.RANDOM))
    return [fixed | {"library": name, "data": data} | figures | total for name, data in pairs]


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A record of every unit of the study, of the circuits that the units have."""
    units = {
        name: asdict(study.Part(name, circuit_digest(unit), tuple(energies(name)), 1.0, {}))
        for name, unit in study.UNITS.items()
    }
    losses = {row.recipe: [0.001, 0.002, 0.003] for row in study.ROWS if row.recipe}
    libraries = {name: library(name).sha256 for name in SIDE_BY_SIDE}
    return {"command": study.COMMAND, "note": NOTE, "libraries": libraries, "losses": losses, "units": units}


with_libraries = needs_cells(*SIDE_BY_SIDE)


@pytest.mark.slow
@with_libraries
def test_units_of_other_circuits_alone_are_measured_again(
    record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, other = list(study.UNITS)[3:5]
    part = {**record["units"][changed], "circuit_sha256": "0" * 64}
    known = {**record, "units": {**record["units"], changed: part}}
    del known["units"][other]
    asked: list[str] = []

    def again(unit: Unit, layer: object) -> study.Part:
        asked.append(unit.name)
        return study.Part(unit.name, circuit_digest(unit), tuple(energies(unit.name)), 1.0, {})

    monkeypatch.setattr(study, "measured", again)
    found = study.run(lambda unit: {}, known)
    assert asked == [changed, other]
    assert pages.page(found | {"losses": record["losses"]}) == pages.page(record)
    assert study.run(lambda unit: {}, known | {"libraries": {}})["losses"] == {}
    assert asked[2:] == list(study.UNITS), "figures of other libraries do not stand beside these"


def test_a_record_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / study.RECORD).write_text('{"rows": []}')
    with pytest.raises(ValueError, match="is no record of energies; write it anew with"):
        study.read(tmp_path)


@pytest.mark.slow
@with_libraries
def test_pictures_name_what_they_show(record: dict[str, Any]) -> None:
    charts = pages.charts(record)
    assert set(charts) == {"energy.svg", "energy-accuracy.svg"}
    for row in study.ROWS:
        assert row.label.replace(">", "&gt;") in charts["energy.svg"]
        assert not row.recipe or row.recipe in charts["energy-accuracy.svg"]
