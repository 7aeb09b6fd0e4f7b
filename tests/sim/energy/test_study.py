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
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_sim import records
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


def part(unit: Unit) -> study.Part:
    """A measurement of the circuit that a unit has."""
    spec, figures = tuple(unit.describe()), tuple(energies(unit.name))
    provenance = {"date": "2026-01-02", "command": "fp9 records update"}
    return study.Part(unit.name, spec, circuit_digest(unit), study.libraries(), figures, 1.0, provenance)


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A record of every unit of the study, of the circuits that the units have."""
    units = {name: asdict(part(unit)) for name, unit in study.UNITS.items()}
    losses = {row.recipe: [0.001, 0.002, 0.003] for row in study.ROWS if row.recipe}
    return {"command": study.COMMAND, "note": NOTE, "losses": losses, "units": units}


with_libraries = needs_cells(*SIDE_BY_SIDE)


@pytest.mark.slow
@with_libraries
def test_units_of_other_circuits_alone_are_measured_again(
    record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, other = list(study.UNITS)[3:5]
    earlier = {**record["units"][changed], "circuit_sha256": "0" * 64}
    known = {**record, "units": {**record["units"], changed: earlier}}
    del known["units"][other]
    asked: list[str] = []

    def again(unit: Unit, layer: object) -> study.Part:
        asked.append(unit.name)
        return part(unit)

    monkeypatch.setattr(study, "measured", again)
    found = study.run(lambda unit: {}, known)
    assert asked == [changed, other]
    assert pages.page(found | {"losses": record["losses"]}) == pages.page(record)
    others = {name: fields | {"libraries": {}} for name, fields in record["units"].items()}
    study.run(lambda unit: {}, {"units": others})
    assert asked[2:] == list(study.UNITS), "figures of other libraries do not stand beside these"


@with_libraries
def test_records_of_units_are_read_together(tmp_path: Path) -> None:
    unit = study.ROWS[4].unit
    records.write(tmp_path, records.ENERGY, asdict(part(unit)))
    found = study.read(tmp_path)
    assert list(found["units"]) == [unit.name]
    assert study.lacks(unit, found, circuit_digest(unit)) is None
    with pytest.raises(ValueError, match=r"no energy of .* is recorded; run `fp9 records update"):
        pages.write(found, tmp_path)


@pytest.mark.slow
@with_libraries
def test_pictures_name_what_they_show(record: dict[str, Any]) -> None:
    charts = pages.charts(record)
    assert set(charts) == {"energy.svg", "energy-accuracy.svg"}
    for row in study.ROWS:
        assert row.label.replace(">", "&gt;") in charts["energy.svg"]
        assert not row.recipe or row.recipe in charts["energy-accuracy.svg"]
