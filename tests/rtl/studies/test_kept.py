"""A page that was written is of the circuits that it was measured of, and of no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fp9.engines import engine
from fp9.formats import format
from fp9.units import CATALOGUE, Dot
from fp9_rtl.studies import kept


def test_every_unit_of_the_catalogue_is_in_some_study() -> None:
    assert set(CATALOGUE.values()) <= set(kept.every_unit())


def test_sentences_of_a_page_may_change_and_figures_may_not() -> None:
    page = "# Decoders\n\n| variant | um2 |\n|---|--:|\n| hif8 | 1313 |\n"
    assert kept.figures(page.replace("Decoders", "What decoders cost")) == kept.figures(page)
    assert kept.figures(page.replace("1313", "7313")) != kept.figures(page)


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
    with pytest.raises(ValueError, match="is no record of studies; write it again with `fp9 study --out"):
        kept.read(tmp_path)


def test_a_spec_without_hardware_has_no_circuit() -> None:
    e5m2 = (format("e5m2"),)
    assert kept.circuit_of(Dot("refused", e5m2, e5m2, engine("cdna3(rounding=rtz)"))) is None
