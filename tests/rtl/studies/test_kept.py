"""Pages of studies are of the circuits of today, and state the figures that were measured of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.rosters import thinned

from fp9.engines import engine
from fp9.formats import format
from fp9.units import CATALOGUE, Dot, Unit
from fp9_rtl.studies import kept

FOLDER = Path(__file__).parents[3] / "docs" / "study"
PAGES = kept.read(FOLDER)


@pytest.mark.parametrize("study", kept.PAGES)
def test_a_page_states_the_figures_that_its_record_is_of(study: str) -> None:
    page = (FOLDER / f"{study}.md").read_text()
    assert PAGES[study].figures_sha256 == kept.figures(page), f"measure: fp9 study {study} --out docs/study"
    assert set(PAGES[study].circuits) == {unit.name for unit in kept.units_of(study)}
    refused = {name for name, circuit in PAGES[study].circuits.items() if circuit is None}
    assert all(f": {name}: no hardware" in page for name in refused)


IN_THE_CATALOGUE = [unit for unit in kept.every_unit() if unit in CATALOGUE.values()]
OTHERS = [unit for unit in kept.every_unit() if unit not in IN_THE_CATALOGUE]


@pytest.mark.slow
@pytest.mark.parametrize("unit", [*IN_THE_CATALOGUE, *thinned(OTHERS, every=12)], ids=lambda unit: unit.name)
def test_figures_are_of_the_circuit_of_today(unit: Unit) -> None:
    """Of units outside the catalogue, whose circuits no other test makes, a twelfth that are not long."""
    earlier = kept.earlier(unit, FOLDER)
    assert earlier == [], f"measure: fp9 study {' '.join(earlier)} --out docs/study"


def test_every_unit_of_the_catalogue_is_in_some_study() -> None:
    assert set(IN_THE_CATALOGUE) == set(CATALOGUE.values())


def test_sentences_of_a_page_may_change_and_figures_may_not() -> None:
    page = (FOLDER / "decoders.md").read_text()
    assert kept.figures(page.replace("Decoders", "What decoders cost")) == kept.figures(page)
    row = next(line for line in page.splitlines() if line.startswith("| hif8 |"))
    assert kept.figures(page.replace(row, row.replace("1", "7", 1))) != kept.figures(page)


@pytest.mark.slow
def test_a_page_that_was_written_pays_what_it_owed(tmp_path: Path) -> None:
    unit = CATALOGUE["decoder_hif8"]
    (tmp_path / "decoders.md").write_text("| hif8 | 1313 |\n")
    assert kept.earlier(unit, tmp_path) == ["decoders", "units", "submodules"]
    kept.keep("decoders", tmp_path)
    assert kept.earlier(unit, tmp_path) == ["units", "submodules"]
    record = json.loads((tmp_path / kept.RECORD).read_text())
    record["decoders"]["circuits"][unit.name] = "0" * 64
    (tmp_path / kept.RECORD).write_text(json.dumps(record))
    assert kept.earlier(unit, tmp_path)[0] == "decoders"
    (tmp_path / kept.RECORD).write_text("[]")
    with pytest.raises(ValueError, match="is no record of studies; write it anew with `fp9 study --out"):
        kept.read(tmp_path)


def test_a_spec_without_hardware_has_no_circuit() -> None:
    e5m2 = (format("e5m2"),)
    assert kept.circuit_of(Dot("refused", e5m2, e5m2, engine("cdna3(rounding=rtz)"))) is None
