"""The golden vectors in `vectors/` are what the model gives, byte for byte.

A difference means that an output bit of a unit has changed: state it in the changelog and export the vectors with
`fp9 vectors export UNIT --suite smoke --out vectors`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.rosters import each_kind

from fp9.units import CATALOGUE, Unit
from fp9.vectors import sets as vectors

FOLDER = Path(__file__).parents[3] / "vectors"
COMMITTED = [CATALOGUE[path.stem] for path in sorted(FOLDER.glob("*.vec"))]
"""The units whose vectors are committed; a name that the catalogue does not have is an error."""


@pytest.mark.every(10)
@pytest.mark.parametrize("unit", each_kind(COMMITTED), ids=lambda unit: unit.name)
def test_the_smoke_suite_gives_the_committed_vectors_to_the_byte(unit: Unit, tmp_path: Path) -> None:
    """The manifest's mutation score is a record of the circuit and is not compared."""
    made = vectors.export(vectors.generate(unit, "smoke"), tmp_path)
    assert made.read_bytes() == (FOLDER / made.name).read_bytes()
    manifests = [json.loads((folder / made.name).with_suffix(".json").read_text()) for folder in (tmp_path, FOLDER)]
    assert {**manifests[0], "mutation_score": None} == {**manifests[1], "mutation_score": None}


@pytest.mark.parametrize("name", [unit.name for unit in COMMITTED])
def test_committed_results_are_those_of_the_model(name: str, tmp_path: Path) -> None:
    """Of every unit, to the byte of the file; that its inputs are chosen again is tested above."""
    kept = FOLDER / f"{name}.vec"
    made = vectors.export(vectors.from_inputs(CATALOGUE[name], vectors.read(kept).inputs), tmp_path, name)
    assert made.read_bytes() == kept.read_bytes()
