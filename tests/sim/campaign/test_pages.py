"""Claims about the figures of pages: what is of another circuit is owed, and is paid by what makes it anew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cells import needs_cells

from fp9.units import CATALOGUE, Unit
from fp9_rtl import circuit_digest
from fp9_rtl.studies import kept
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_sim import campaign
from fp9_sim.campaign import figures
from fp9_sim.energy import study
from fp9_sim.foreign import area
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD

DOCS = Path(__file__).parents[3] / "docs"
OTHER = "0" * 64

Reasons = dict[str, tuple[str, bool]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of records in which there are none, beside copies of the records of pages."""
    for name in (f"study/{study.RECORD}", f"study/{kept.RECORD}", f"peers/{area.RECORD}"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(DOCS / name, tmp_path / name)
    for mapping in (DOCS / "peers").glob("*.toml"):
        shutil.copy(mapping, tmp_path / "peers")
    (tmp_path / "verification").mkdir()
    return tmp_path / "verification"


def loaded(path: Path) -> Any:
    return json.loads(path.read_text())


def owed(claim: campaign.Claim, folder: Path, *units: Unit) -> Reasons:
    """Why each unit owes a claim, and whether a campaign pays it."""
    return {debt.unit.name: (debt.why, debt.payable) for debt in campaign.owed(units, folder, [claim])}


# --- energy -----------------------------------------------------------------------------------------------------------

MULTIPLIER = CATALOGUE["fma_dlfloat16_hfp8"]
"""A unit of the study of energy, in two of its groups."""

with_libraries = needs_cells(*SIDE_BY_SIDE)


@with_libraries
def test_an_energy_of_another_circuit_is_owed_and_paid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.parent / "study" / study.RECORD
    record = loaded(path)
    energies = record["units"][MULTIPLIER.name]["energies"]
    assert owed(figures.ENERGY, folder, MULTIPLIER) == {}
    record["units"][MULTIPLIER.name]["circuit_sha256"] = OTHER
    path.write_text(json.dumps(record))
    assert owed(figures.ENERGY, folder, MULTIPLIER) == {MULTIPLIER.name: (EARLIER_CIRCUIT, True)}
    part = study.Part(MULTIPLIER.name, circuit_digest(MULTIPLIER), tuple(energies), 12.0, {})
    monkeypatch.setattr(study, "measured", lambda unit, layer: part)
    monkeypatch.setattr("fp9_sim.demo.operations.in_the_layer", lambda count: lambda unit: {})
    assert figures.ENERGY.make and figures.ENERGY.keep
    made = figures.ENERGY.make(MULTIPLIER, 60)
    assert figures.ENERGY.keep(made, folder / figures.ENERGY.folder).samefile(path)
    assert owed(figures.ENERGY, folder, MULTIPLIER) == {}
    assert figures.ENERGY.seconds(MULTIPLIER, folder) == 12
    assert "# What an operation takes" in path.with_suffix(".md").read_text(), "the page is drawn anew"


def test_an_energy_that_was_never_measured_is_owed(folder: Path) -> None:
    (folder.parent / "study" / study.RECORD).unlink()
    assert owed(figures.ENERGY, folder, MULTIPLIER) == {MULTIPLIER.name: (NO_RECORD, True)}


def test_a_unit_that_no_page_has_owes_none() -> None:
    lone = CATALOGUE["decoder_hif8"]
    assert owed(figures.ENERGY, DOCS / "verification", lone) == {}
    assert owed(figures.BESIDE, DOCS / "verification", lone) == {}


# --- studies ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_of_another_circuit_is_owed_and_paid(folder: Path) -> None:
    unit = next(v.unit for v in kept.STUDIES["decoders"].variants if v.label == "hif8")
    path = folder.parent / "study" / kept.RECORD
    record = loaded(path)
    assert unit.name == "decoder_hif8"
    assert owed(figures.STUDY, folder, unit) == {}
    for page in ("decoders", "units"):
        record[page]["circuits"][unit.name] = OTHER
    path.write_text(json.dumps(record))
    why, payable = owed(figures.STUDY, folder, unit)[unit.name]
    assert why.endswith(f"`fp9 study decoders units --out {path.parent}`") and not payable
    shutil.copy(DOCS / "study" / "decoders.md", path.parent)
    kept.keep("decoders", path.parent)
    assert owed(figures.STUDY, folder, unit)[unit.name][0].endswith(f"`fp9 study units --out {path.parent}`")


# --- other people's units ---------------------------------------------------------------------------------------------


def test_a_row_beside_other_peoples_units_of_another_circuit_is_owed_and_paid(folder: Path) -> None:
    unit = CATALOGUE["dot16_fp32_nvfp4"]
    path = folder.parent / "peers" / area.RECORD
    rows = loaded(path)
    assert unit in figures.BESIDE.units(folder)
    assert owed(figures.BESIDE, folder, unit) == {}
    path.write_text(
        json.dumps([row | ({"circuit_sha256": OTHER} if row["peer"] == "nvfp4_dotprod" else {}) for row in rows])
    )
    said = {unit.name: (f"{EARLIER_CIRCUIT} beside nvfp4_dotprod: needs the peers' files", False)}
    assert owed(figures.BESIDE, folder, unit) == said
    area.keep([one for one in area.read(DOCS / "peers" / area.RECORD) if one.peer == "nvfp4_dotprod"], path)
    assert owed(figures.BESIDE, folder, unit) == {}


@pytest.mark.slow
def test_specs_that_are_in_no_catalogue_are_asked_of_too(folder: Path) -> None:
    asked = {unit.name for unit in figures.BESIDE.units(folder)}
    assert {"dot16_fp32_nvfp4", "fma_fp32_e5m2", "check_hardfloat_cast"} <= asked
    debts = campaign.owed(None, folder, [figures.BESIDE])
    assert debts == []
