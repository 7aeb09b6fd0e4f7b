"""The golden vectors in `vectors/` are what the model gives today, byte for byte.

A difference means that an output bit of a unit has changed: state it in the changelog and write the vectors anew with
`fp9 vectors export UNIT --suite smoke --out vectors`, after `fp9 grade UNIT --record`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.rosters import each_kind

from fp9.units import CATALOGUE, Unit
from fp9.vectors import sets as vectors
from fp9.vectors.grades import grade_of

FOLDER = Path(__file__).parents[3] / "vectors"


@pytest.mark.every(10)
@pytest.mark.parametrize("unit", each_kind(CATALOGUE.values()), ids=lambda unit: unit.name)
def test_committed_vectors_are_made_again_to_the_byte(unit: Unit, tmp_path: Path) -> None:
    made = vectors.export(vectors.generate(unit, "smoke"), tmp_path)
    for suffix in (".vec", ".json"):
        assert made.with_suffix(suffix).read_bytes() == (FOLDER / made.name).with_suffix(suffix).read_bytes()


@pytest.mark.parametrize("name", CATALOGUE)
def test_committed_results_are_those_of_the_model(name: str, tmp_path: Path) -> None:
    """Of every unit, to the byte of the file; that its inputs are chosen again is tested above."""
    kept = FOLDER / f"{name}.vec"
    made = vectors.export(vectors.from_inputs(CATALOGUE[name], vectors.read(kept).inputs), tmp_path, name)
    assert made.read_bytes() == kept.read_bytes()


@pytest.mark.parametrize("name", CATALOGUE)
def test_committed_vectors_state_a_grade_of_their_own(name: str) -> None:
    """That of these very vectors, of at least 95 % of single errors noticed; a suite that changed needs `fp9 grade UNIT
    --record`, then its export."""
    grade = json.loads((FOLDER / f"{name}.json").read_text())["grade"]
    assert grade is not None
    assert grade == grade_of(name, vectors.digest(vectors.read(FOLDER / f"{name}.vec")))
    assert grade["share"] >= 0.95


def test_no_vectors_of_units_that_are_gone_lie_about() -> None:
    assert {path.stem for path in FOLDER.glob("*.vec")} == set(CATALOGUE)
