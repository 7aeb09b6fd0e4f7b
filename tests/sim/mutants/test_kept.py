"""Grades are kept as records, of which the model carries a table; an installed package is never written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fp9.vectors.grades import TABLE, grade_of
from fp9_sim.mutants import Grade, SuiteGrade, keep, kept, read

RECORDS = Path(__file__).parents[3] / "docs" / "verification" / "grades"
GRADED = Grade(
    "some", (), "f" * 64, "c" * 64, 4, (5,), (), (), (), (SuiteGrade("smoke", "a" * 64, 10, 3, ()),), 1.5, {}
)


def test_the_models_table_is_that_of_the_records() -> None:
    """Where they differ, `fp9 grade UNIT --record` in the repository makes it anew."""
    assert TABLE.read_text() == kept.table(RECORDS)


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_the_model_knows_every_recorded_grade(path: Path) -> None:
    record = json.loads(path.read_text())
    for suite in record["suites"]:
        known = grade_of(path.stem, suite["sha256"])
        assert known is not None
        assert (known["noticed"], known["share"], known["seeds"]) == (suite["killed"], suite["rate"], record["seeds"])
    assert grade_of(path.stem, "0" * 64) is None


def test_a_record_elsewhere_leaves_the_models_table_alone(tmp_path: Path) -> None:
    before = TABLE.stat()
    assert keep(GRADED, tmp_path / "grades") == tmp_path / "grades" / "some.json"
    assert TABLE.stat() == before
    assert read(tmp_path / "grades", "some") == json.loads(json.dumps(GRADED.to_dict()))
    assert read(tmp_path / "grades", "other") is None


def test_a_record_of_the_source_makes_the_table_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "SOURCE", tmp_path / "grades")
    monkeypatch.setattr(kept, "TABLE", tmp_path / "grades.json")
    keep(GRADED, tmp_path / "grades")
    suite = {"mutants": 3, "noticed": 3, "share": 1.0, "seeds": [5], "verilog_sha256": "f" * 64}
    assert json.loads((tmp_path / "grades.json").read_text()) == {"some": {"a" * 64: suite}}


@pytest.mark.parametrize("text", ["{}", "[1]", "{"])
def test_a_damaged_record_is_named_with_the_command_that_writes_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text(text)
    with pytest.raises(ValueError, match=r"some.json is no record; write it anew with `fp9 grade some --record`"):
        kept.table(tmp_path)
