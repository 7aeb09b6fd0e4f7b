"""Records are read as they were written, and what the schema refuses is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fp9_sim import records

FIELDS: dict[str, Any] = {
    "unit": "some",
    "spec": ["kind: cast"],
    "circuit_sha256": "a" * 64,
    "seconds": 1.5,
    "provenance": {"date": "2026-01-02", "command": "fp9 prove some", "yosys": "0.1"},
    "proven": True,
    "claims": [{"name": "values", "state": "proven", "seconds": 1.5, "cases": []}],
}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = records.write(tmp_path, records.PROOF, FIELDS)
    assert path == tmp_path / "proof" / "some.json"
    assert records.read(tmp_path, records.PROOF, "some") == FIELDS
    assert records.read(tmp_path, records.PROOF, "other") is None


def test_a_record_says_what_of_the_circuit_it_is_about(tmp_path: Path) -> None:
    record = json.loads(records.write(tmp_path, records.PROOF, FIELDS).read_text())
    assert (record["about"], record["form"], record["tools"]) == ("function", "a" * 64, {"yosys": "0.1"})
    assert (record["cost"], record["command"], record["date"]) == ({"seconds": 1.5}, "fp9 prove some", "2026-01-02")


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"circuit_sha256": "abc"}, "form"),
        ({"seconds": -1}, "cost.seconds"),
        ({"proven": "yes"}, "result.proven"),
        ({"claims": [{"name": "values"}]}, r"result.claims.0"),
    ],
)
def test_fields_that_the_schema_refuses_are_named_and_nothing_is_written(
    changed: dict[str, Any], place: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=rf"some.json: {place}: "):
        records.write(tmp_path, records.PROOF, FIELDS | changed)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"unit": "some"}'])
def test_a_damaged_file_is_named_with_the_command_that_measures_again(text: str, tmp_path: Path) -> None:
    path = records.write(tmp_path, records.PROOF, FIELDS)
    path.write_text(text)
    with pytest.raises(ValueError, match=r"some.json is no valid record .*fp9 records update some --hours 1"):
        records.read(tmp_path, records.PROOF, "some")


def test_a_record_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    path = records.write(tmp_path, records.PROOF, FIELDS)
    path.rename(path.with_name("other.json"))
    with pytest.raises(ValueError, match="is a record of proof of some; move it to the file of that record"):
        records.read(tmp_path, records.PROOF, "other")
