"""`fp9 fit` on units that are engines of the model: presets and engines at random are recovered, others are refused."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rosters import PRESETS

import fp9
from fp9.engines import ENGINES, Engine, engine
from fp9.fit import Box, Interface, fit, search
from fp9.fit import fields as hypotheses
from fp9.fit.job import CALLS
from fp9.fit.picture import remaining
from fp9.fit.trials import boxed, interface_of, random_engine, random_interface, trial
from fp9.formats import fixed_format, format

DOCS = Path(__file__).parents[3] / "docs"
OPERANDS = Interface(format("e4m3"), format("e4m3"), fixed_format("fp32"), 32)


@pytest.mark.parametrize("name", [name for name in PRESETS if (ENGINES[name].chunk or 0) <= 32][::4])
def test_a_preset_is_recovered_from_few_sums(name: str) -> None:
    """All of the catalogue: python -m fp9.fit.trials presets; what it gave is in docs/fit.md."""
    found = trial(ENGINES[name], interface_of(ENGINES[name]), dots=2000)
    assert found.equal
    assert found.calls <= CALLS


@pytest.mark.parametrize("seed", [0])
def test_an_engine_at_random_is_recovered(seed: int) -> None:
    """A thousand: python -m fp9.fit.trials random."""
    interface = random_interface(seed)
    given = random_engine(interface, np.random.default_rng(seed))
    found = trial(given, interface, seed, dots=2000)
    assert found.equal, found
    assert found.calls <= CALLS


def test_every_field_of_the_record_is_a_hypothesis() -> None:
    named = {field.name for field in hypotheses.hypotheses(OPERANDS)}
    assert named == {field.name for field in fields(Engine)} - {"name"}
    for field in hypotheses.hypotheses(OPERANDS):
        assert {getattr(preset, field.name) for preset in ENGINES.values()} <= set(field.values)
        assert len(field.values) > 1


def test_the_answer_is_an_expression_that_gives_the_engine() -> None:
    given = engine("hopper(window=17,rounding=rne,products=16)")
    found = fit(boxed(given, OPERANDS))
    assert found.engine is not None
    assert engine(found.engine.name) == found.engine
    assert found.engine.window == 17 and found.engine.products == 16


def test_fields_without_effect_are_named() -> None:
    found = fit(boxed(ENGINES["fma_fp32"], OPERANDS))
    changed = [hypotheses.differences(found.nearest, other) for other in found.equal]
    assert {"truncation", "scaling"} <= {name for each in changed for name in each}


def test_candidates_only_fall() -> None:
    found = fit(boxed(ENGINES["ada"], OPERANDS))
    assert found.falls
    assert all(fall.after < fall.before for fall in found.falls)
    assert [fall.row for fall in found.falls] == sorted(fall.row for fall in found.falls)
    assert found.calls <= CALLS


def test_a_unit_that_no_engine_is_is_refused_with_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MOST", 50)
    monkeypatch.setattr(search, "_STARTS", 1)

    def ask(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        codes = fp9.dot(a, b, "e4m3", "e4m3", "fma_fp32", c)
        return np.where(codes % 5 == 1, codes ^ 2, codes)

    interface = Interface(format("e4m3"), format("e4m3"), fixed_format("fp32"), 4)
    found = fit(Box("wrong", interface, ask), calls=600)
    assert found.engine is None
    assert found.differs is not None


def test_a_limit_of_calls_is_kept() -> None:
    found = fit(boxed(ENGINES["hopper"], OPERANDS), calls=20)
    assert found.calls <= 20
    assert found.engine is None or found.evidence.explains(found.engine)


def test_a_code_of_nan_is_found_that_no_preset_has() -> None:
    given = engine("hopper(nan=0x7fffffff)")
    found = fit(boxed(given, OPERANDS))
    assert found.engine is not None and found.engine.nan == 0x7FFFFFFF


def test_the_picture_of_the_page_is_that_of_its_unit() -> None:
    """Each field's values before the first sum and after the last stand in the picture as text."""

    def unit(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        codes: NDArray[Any] = fp9.dot(a, b, "e4m3", "e4m3", "hopper(window=17, rounding=rne, products=16)", c)
        return codes

    found = fit(Box("a unit", OPERANDS, unit))
    text = (DOCS / "fit" / "unit.svg").read_text()
    assert f"a unit: {found.nearest.name}" in text
    for name, counts in remaining(found).items():
        assert counts == sorted(counts, reverse=True)
        assert f"{name}: {counts[0]} to {counts[-1]}" in text


def test_the_table_of_the_page_is_that_of_the_record() -> None:
    text = (DOCS / "fit.md").read_text()
    record = json.loads((DOCS / "fit" / "presets.json").read_text())
    for row in record:
        assert row["equal"] and row["calls"] <= CALLS
        assert f"| `{row['given']}` | {row['operands']} | {row['depth']} | {row['calls']} |" in text
