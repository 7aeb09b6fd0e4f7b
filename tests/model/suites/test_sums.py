"""Families of sums whose operations do what they are made for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fp9
from fp9.engines import Truncation
from fp9.golden import evaluate
from fp9.rounding import Flags, Rounding
from fp9.suites.behind import behind_corner
from fp9.suites.beyond import beyond_corner
from fp9.suites.columns import Inputs, concatenated
from fp9.units import CATALOGUE, Dot

Family = Callable[[Dot, np.random.Generator], Iterator[Inputs]]


def operations(family: Family, unit: Dot) -> Inputs:
    """The operations of a family, or no columns where a unit has none."""
    parts = [*family(unit, np.random.default_rng(0))]
    return concatenated(parts) if parts else {}


def dots() -> list[Dot]:
    return [unit for unit in CATALOGUE.values() if type(unit) is Dot]


CHAINED = [unit for unit in dots() if operations(behind_corner, unit)]
NARROW = [unit for unit in dots() if operations(beyond_corner, unit)]


def test_families_have_units() -> None:
    assert CHAINED and NARROW
    assert all(unit.engine.steps_of_chunk > 1 for unit in CHAINED)


@pytest.mark.parametrize("unit", NARROW, ids=lambda unit: unit.name)
def test_products_beyond_the_largest_result_come_back_and_do_not(unit: Dot) -> None:
    results = evaluate(unit, operations(beyond_corner, unit))
    overflows = (results["flags"] & Flags.OVERFLOW) != 0
    finite = np.isfinite(fp9.decode(results["result"], unit.engine.output))
    assert overflows.mean() > 0.05
    assert (finite & (results["result"] != 0)).mean() > 0.05


CHANGES: list[dict[str, Any]] = [
    {"window": 24},
    {"window": 26},
    {"truncation": Truncation.JAM},
    {"truncation": Truncation.FLOOR},
    {"rounding": Rounding.RNA},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("unit", CHAINED, ids=lambda unit: unit.name)
def test_the_last_bits_of_every_step_are_seen(unit: Dot, change: dict[str, Any]) -> None:
    """An engine that differs behind a step's last bit gives other results, or other flags."""
    made = operations(behind_corner, unit)
    other = replace(unit, engine=replace(unit.engine, **change))
    right, changed = evaluate(unit, made), evaluate(other, made)
    assert np.any([right[name] != changed[name] for name in right], axis=0).sum() > 10
