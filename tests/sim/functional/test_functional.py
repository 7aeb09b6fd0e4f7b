"""Records of functional coverage, and that their page says what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units import CATALOGUE, Unit
from fp9.vectors import sets as vectors
from fp9_sim import coverage, functional, records
from fp9_sim.functional import page

HOME = Path(__file__).parents[3] / records.HOME
PAGE = (HOME / page.PAGE).read_text()
UNITS = pytest.mark.parametrize("unit", CATALOGUE.values(), ids=CATALOGUE)


@UNITS
def test_a_row_of_the_page_is_that_of_the_record_of_todays_situations(unit: Unit) -> None:
    record = functional.read(unit, HOME)
    assert record is not None, f"make it with `fp9 campaign {unit.name} --claim functional --hours 1`"
    assert record["spec"] == list(unit.describe())
    assert record["situations_sha256"] == coverage.situations(unit)
    row = functional.Row.of(unit, record)
    assert f"\n| {' | '.join(row.cells)} |\n" in PAGE
    named = [line.removeprefix("* ") for line in PAGE.splitlines() if line.startswith(f"* {unit.name}.")]
    assert named == list(row.holes)


@UNITS
def test_what_was_measured_are_the_vectors_that_were_graded(unit: Unit) -> None:
    """A suite's own digest takes seconds; the two records of it cannot both be of another suite unseen."""
    record, grade = functional.read(unit, HOME), HOME / records.GRADES / f"{unit.name}.json"
    assert record is not None
    graded = {suite["suite"]: suite["sha256"] for suite in json.loads(grade.read_text())["suites"]}
    assert {suite["suite"]: suite["sha256"] for suite in record["suites"]}.items() <= graded.items()


def test_the_page_is_of_the_catalogue_and_nothing_else() -> None:
    rows = [functional.Row(name, (name, *["-"] * (len(functional.COLUMNS) - 1))) for name in CATALOGUE]

    def names(text: str) -> list[str]:
        return [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]

    assert names(PAGE) == names(page.text(rows))
    assert PAGE.split("| unit |")[0] == page.text(rows).split("| unit |")[0]


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
