"""Records of functional coverage, and that their page says what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units import CATALOGUE
from fp9.vectors import sets as vectors
from fp9_sim import coverage, functional, records
from fp9_sim.functional import page

HOME = Path(__file__).parents[3] / records.HOME
PAGE = (HOME / page.PAGE).read_text()
UNITS = pytest.mark.parametrize("unit", CATALOGUE.values(), ids=CATALOGUE)


def test_the_page_names_the_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = vectors.generate("mac4_kulisch_ocp", "random", 200)
    monkeypatch.setattr(page, "CATALOGUE", {name: CATALOGUE[name] for name in (made.unit.name, "decoder_ocp")})
    monkeypatch.setattr(vectors, "generate", lambda unit, suite: made)
    monkeypatch.setattr("fp9_sim.functional.record.of_todays_suites", lambda unit, record: True)
    kept = functional.covered(made.unit)
    records.write(tmp_path / records.FUNCTIONAL, kept.unit, kept.to_dict())
    done = CliRunner().invoke(main, ["coverage", "--functional", "--records", str(tmp_path)])
    assert done.exit_code == 0, done.output
    text = (tmp_path / page.PAGE).read_text()
    covered = coverage.measure(made.unit, made.inputs, made.expected)
    # A wrap takes more operations than these.
    assert "* mac4_kulisch_ocp.wrap: up, down\n" in text
    assert f"| {covered.bins} |" in text and f"| {covered.met} | {covered.met} | {len(covered.holes)} |\n" in text
    longest = max((item for item in covered.items), key=lambda item: len(item.holes))
    assert f"* {longest.name}: {', '.join(longest.holes[:12])}, {len(longest.holes) - 12} more\n" in text
    assert f"| decoder_ocp | {records.NO_RECORD} | - |" in text
