"""A recorded study gives the page that its measurement gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from fp9_rtl.studies.catalogue import study
from fp9_rtl.studies.report import page
from fp9_rtl.studies.study import Outcome, row
from fp9_rtl.synthesis.records import Estimate, Synthesis
from fp9_sim import records
from fp9_sim.evidence import studies

ROOT = Path(__file__).parents[3]
NAME = "decoders"


def measured(library: str, scale: float) -> Outcome:
    """Figures that grow from variant to variant, in two mappings."""
    found = {}
    for place, variant in enumerate(study(NAME).variants, start=1):
        estimates = tuple(
            Estimate(way, scale * place * m, 1.0, 0.0, 2.0 * place, 9, 0, 1.0, 0.5 * place, "", (1.0,), 3.0)
            for m, way in enumerate(("area-optimised", "delay-balanced"), start=1)
        )
        found[variant.label] = Synthesis(variant.unit.name, library, "a", "b", "0.7", "OpenSTA 2", "", estimates)
    rows = tuple(row(study(NAME), variant, found) for variant in study(NAME).variants)
    return Outcome(study(NAME), rows, ())


@pytest.mark.slow
def test_the_page_of_a_record_is_that_of_the_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [measured("osu018", 100.0), measured("nangate45", 4.0)]
    records.write(tmp_path, records.STUDY, studies.fields_of(NAME, studies.figures_of(outcomes)))
    fields = records.read(tmp_path, records.STUDY, NAME)
    assert fields is not None and fields["seconds"] == 2 * 2 * 3.0 * len(study(NAME).variants)
    assert page(studies.outcomes_of(fields)) == page(outcomes)
    built = dict(studies.built(tmp_path))
    assert set(built) == {"decoders.md", "decoders.svg", "README.md"}
    assert built["decoders.md"] == page(outcomes)
    monkeypatch.setattr("fp9_rtl.circuit_digest", lambda unit: "0" * 64)
    stale = dict(studies.built(tmp_path))["decoders.md"]
    assert stale.startswith(page(outcomes)) and "Stale, as the circuit is another by now: e5m2, hfp8_152" in stale


def test_each_kind_of_study_gives_the_page_of_its_record() -> None:
    for name in ("medians", "rules", "submodules"):
        fields = records.read(ROOT / "records", records.STUDY, name)
        assert fields is not None
        page = studies.KINDS[name].texts(fields)[".md"]
        assert page.count("\n| ") >= len(fields["figures"]) and f"`fp9 study {name}`" in page


def test_units_that_were_not_measured_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fp9_rtl.circuit_digest", lambda unit: "0" * 64)
    forms = dict.fromkeys(studies.KINDS["medians"].units("medians"), "0" * 64)
    fields = {"unit": "medians", "forms": forms, "skipped": []}
    assert studies.stale(fields) == []
    forms.pop("fma_fp32_ocp")
    assert studies.stale(fields) == ["fma_fp32_ocp"]
