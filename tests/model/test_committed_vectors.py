"""The golden vectors in `vectors/` are what the model gives today, byte for byte.

A difference means that an output bit of a unit has changed: state it in the changelog and write the vectors anew with
`fp9 vectors export UNIT --suite smoke --out vectors`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fp9 import vectors
from fp9.units import CATALOGUE

FOLDER = Path(__file__).parents[2] / "vectors"


@pytest.mark.parametrize("name", CATALOGUE)
def test_committed_vectors_are_made_again_to_the_byte(name: str, tmp_path: Path) -> None:
    made = vectors.export(vectors.generate(name, "smoke"), tmp_path)
    for suffix in (".vec", ".json"):
        assert made.with_suffix(suffix).read_bytes() == (FOLDER / made.name).with_suffix(suffix).read_bytes()


def test_no_vectors_of_units_that_are_gone_lie_about() -> None:
    assert {path.stem for path in FOLDER.glob("*.vec")} == set(CATALOGUE)
