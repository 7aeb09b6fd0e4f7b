"""Every kind of unit has what the packages ask of it."""

from __future__ import annotations

import importlib

import pytest
from tests.floorplan import FOLDERS, ROOT

from fp9.units import Unit
from fp9.units.hooks import HOOKS, missing
from fp9.units.toml import KINDS


@pytest.fixture(scope="module", autouse=True)
def _every_hook() -> None:
    """Import every module that has a hook."""
    for package, folder in FOLDERS.items():
        for path in sorted((ROOT / folder / package).rglob("*.py")):
            if " = Hook(" in path.read_text():
                place = path.relative_to(ROOT / folder).with_suffix("")
                importlib.import_module(".".join(part for part in place.parts if part != "__init__"))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_of_unit_has_every_hook(kind: type[Unit]) -> None:
    lacks = missing(kind)
    assert not lacks, "\n".join([f"kind {kind.kind} still lacks:", *(f"[ ] {name}" for name in lacks)])


def test_a_new_kind_lacks_every_hook_that_has_no_default() -> None:
    class New(Unit):
        kind = "new"

    lacks = missing(New)
    assert {"golden model", "reference model", "corner suite", "coverage model", "proof", "RTL", "data sheet"} <= {
        *lacks
    }
    assert set(lacks) < set(HOOKS)
