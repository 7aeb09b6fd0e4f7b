"""Conditions that the fields of a specification must meet so that fp9 can generate hardware for the unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fp9.units import Unit, value_words

Kind = TypeVar("Kind", bound=Unit)


@dataclass(frozen=True)
class Condition(Generic[Kind]):
    """The values that the hardware accepts for one field of a specification."""

    # If the field is a list, the hardware must accept every value in it.

    field: str
    """Name of a field of the unit, or `engine.` followed by the name of an engine field."""
    fits: Callable[[Kind, Any], bool]
    """Function that returns whether the hardware of a unit accepts a value."""
    takes: str
    """Accepted values in words. The error message prints them after the word "give"."""
    reason: str
    """Why the hardware accepts no other values."""

    def misfits(self, unit: Kind) -> list[object]:
        value: Any = unit
        for name in self.field.split("."):
            value = getattr(value, name)
        return [each for each in (value if isinstance(value, tuple) else (value,)) if not self.fits(unit, each)]


@dataclass(frozen=True)
class Circuits(Generic[Kind]):
    """Units of one kind that share a hardware design, and conditions that the units' specifications must meet."""

    units: str
    """The units in words, for example "a cast" or "a mac with chunks"."""
    kind: type[Kind]
    conditions: tuple[Condition[Kind], ...]
    where: Callable[[Kind], bool] = lambda _: True
    """Function that selects the units to which the conditions apply."""

    def refusals(self, unit: Unit) -> Iterator[str]:
        if not isinstance(unit, self.kind) or not self.where(unit):
            return
        for condition in self.conditions:
            if values := condition.misfits(unit):
                given = _given(condition.field, values)
                yield f"{unit.name}: no hardware {given} in {self.units}; give {condition.takes}"


def _given(field: str, values: list[object]) -> str:
    if values == [None]:
        return f"without {field}"
    return f"for {field} = {value_words(tuple(values))}"


def is_absent(unit: object, value: object) -> bool:
    return value is None or value is False
