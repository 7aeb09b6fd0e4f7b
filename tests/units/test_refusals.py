"""A specification with one wrong field is refused by a sentence that names this field."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from random import Random

import pytest
from tests.units.checks import names
from tests.units.spread import first_units
from tests.units.values import LEFT_OUT, values

from fp9.engines import PARAMETERS
from fp9.units import Unit
from fp9.units.toml import as_table, build

UNITS = 32
"""Units of seeds that no other test has."""
TRIES = 4
"""Values of the right type for each field."""
WRONG_TYPES: tuple[object, ...] = ("nonsense", -3, 10**9, 0.5, [], ["nonsense"], {"x": 1})
ENGINE = tuple(name for parameter in PARAMETERS.values() for name in (parameter.name, parameter.path))


@functools.cache
def units() -> list[Unit]:
    return first_units(710_000, UNITS)


def _refusals(unit: Unit, field: str, tried: Iterator[object]) -> Iterator[tuple[object, str]]:
    """The values of a field that are refused, with the error messages. An accepted value is no refusal."""
    for value in tried:
        try:
            build({**as_table(unit), field: value})
        except ValueError as error:
            yield value, str(error)


def _fields(unit: Unit) -> list[str]:
    return [field.name for field in dataclasses.fields(unit) if field.name != "name"]


def _named(said: str, field: str) -> bool:
    return names(said, field) or (field == "engine" and any(names(said, parameter) for parameter in ENGINE))


@pytest.mark.parametrize("number", range(UNITS))
def test_a_value_of_a_wrong_type_is_refused_by_the_name_of_its_field(number: int) -> None:
    unit = units()[number]
    refused = {field: [*_refusals(unit, field, iter(WRONG_TYPES))] for field in _fields(unit)}
    assert [field for field, found in refused.items() if len(found) < len(WRONG_TYPES) - 2] == []
    assert [(f, *each) for f, found in refused.items() for each in found if not _named(each[1], f)] == []


def test_a_value_that_does_not_fit_the_other_fields_is_refused_by_the_name_of_its_field() -> None:
    rng, found, wrong = Random(1), 0, []
    for unit in units():
        for field in _fields(unit):
            drawn = [values(type(unit), field)(rng, as_table(unit)) for _ in range(TRIES)]
            for value, said in _refusals(unit, field, (value for value in drawn if value is not LEFT_OUT)):
                found += 1
                wrong += [] if _named(said, field) else [(field, value, said)]
    assert found >= UNITS, "hardly any value was refused"
    assert wrong == []
