"""The fields of a unit as a form are the settings that make the unit again."""

from __future__ import annotations

import dataclasses

import pytest

from fp9.units import CATALOGUE, Unit
from fp9.units.form import entries
from fp9.units.toml import load


@pytest.mark.parametrize("unit", CATALOGUE.values(), ids=list(CATALOGUE))
def test_a_form_says_the_whole_spec(unit: Unit) -> None:
    """Set on a unit of the same kind that differs wherever it can, the form's texts give the unit."""
    other = next(spec for spec in reversed(CATALOGUE.values()) if spec.kind == unit.kind)
    settings = [f"{entry.name}={entry.text}" for entry in entries(unit) if entry.text]
    assert dataclasses.replace(load(other.name, settings), name=unit.name) == unit


def test_an_engine_of_its_own_is_a_setting() -> None:
    spec = load("fma_dlfloat16", ["engine.result.rounding=rtz"])
    (text,) = (entry.text for entry in entries(spec) if entry.name == "engine")
    assert load("fma_dlfloat16", [f"engine={text}"]) == spec


@pytest.mark.parametrize("unit", {spec.kind: spec for spec in CATALOGUE.values()}.values(), ids=lambda unit: unit.kind)
def test_a_form_offers_the_names_that_stand_in_it(unit: Unit) -> None:
    for entry in entries(unit):
        words = entry.text.split(", ") if entry.several else [entry.text]
        assert not entry.offered or not entry.text or set(words) <= set(entry.offered) or "(" in entry.text
