"""Pages are built from records; what is stale or missing is said where it stands."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units import CATALOGUE
from fp9_rtl import circuit_digest
from fp9_rtl.synthesis.records import Estimate, Synthesis
from fp9_sim import records
from fp9_sim.evidence import site
from fp9_sim.evidence.areas import Area

UNIT = CATALOGUE["decoder_ocp"]
ESTIMATE = Estimate("area-optimised", 1234.0, 1234.0, 0.0, 51.0, 40, 0, 1.0, 2.5, "", (1234.0,), 1.0)
MEASURED = Synthesis("decoder_ocp", "osu018", "a" * 64, "b" * 64, "0.1", "OpenSTA", "", (ESTIMATE,))
PROVENANCE = {"date": "2026-01-02", "command": "fp9 records update"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    area = Area(UNIT.name, tuple(UNIT.describe()), circuit_digest(UNIT), (MEASURED,), 1.0, PROVENANCE)
    records.write(tmp_path / "records", records.AREA, area.to_dict())
    return tmp_path / "records"


def test_a_data_sheet_states_the_recorded_area(folder: Path) -> None:
    text = site.sheet(UNIT, folder)
    assert "| 1234 |" in text and "earlier circuit" not in text


def test_a_data_sheet_says_that_its_area_is_stale_or_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No area is recorded" in site.sheet(CATALOGUE["decoder_hif8"], folder)
    monkeypatch.setattr("fp9_rtl.circuit_digest", lambda unit: "0" * 64)
    text = site.sheet(UNIT, folder)
    assert "| 1234 |" in text and "The area is that of an earlier circuit" in text


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("wavedrom") is None, reason="wavedrom is not installed")
def test_the_command_writes_the_pages_of_a_unit(folder: Path, tmp_path: Path) -> None:
    words = ["records", "pages", UNIT.name, "--records", str(folder), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    assert {"units/README.md", "units/conditions.md", "units/decoder_ocp.md", "verification/coverage.md"} <= written
    assert written <= site.names()
    assert "| decoder_ocp | missing: no record | - |" in (tmp_path / "out" / site.COVERAGE).read_text()


def test_every_unit_has_a_page() -> None:
    assert {f"units/{name}.md" for name in CATALOGUE} <= site.names()
