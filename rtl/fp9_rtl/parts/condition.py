"""Conditions: what the circuits of a unit ask of its specification's fields, one field a condition.

Each condition is stated once. It decides whether the unit has hardware, it words the refusal, and it is a row of the
table in docs/units/conditions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fp9.units import Unit, value_words

Kind = TypeVar("Kind", bound=Unit)


@dataclass(frozen=True)
class Condition(Generic[Kind]):
    """What one field has to be. For a field that lists values, every value has to fit."""

    field: str
    """A field of the unit, or `engine.` and a field of its engine."""
    fits: Callable[[Kind, Any], bool]
    """Whether a value fits a unit."""
    takes: str
    """The values that fit, as an object of the word "give"."""
    reason: str
    """Why the circuits take no other values."""

    def misfits(self, unit: Kind) -> list[object]:
        """The values of the field that do not fit."""
        value: Any = unit
        for name in self.field.split("."):
            value = getattr(value, name)
        return [each for each in (value if isinstance(value, tuple) else (value,)) if not self.fits(unit, each)]


@dataclass(frozen=True)
class Circuits(Generic[Kind]):
    """The conditions of some units, and which units these are."""

    units: str
    """The units in words: "a cast", "a mac with chunks"."""
    kind: type[Kind]
    conditions: tuple[Condition[Kind], ...]
    where: Callable[[Kind], bool] = lambda _: True
    """Which units of the kind have these circuits."""

    def refusals(self, unit: Unit) -> Iterator[str]:
        """One sentence for each field of the unit whose value these circuits do not take."""
        if not isinstance(unit, self.kind) or not self.where(unit):
            return
        for condition in self.conditions:
            if values := condition.misfits(unit):
                given = _given(condition.field, values)
                yield f"{unit.name}: no hardware {given} in {self.units}; give {condition.takes}"


def _given(field: str, values: list[object]) -> str:
    """A field and its values in a sentence, in the words of a specification."""
    if values == [None]:
        return f"without {field}"
    return f"for {field} = {value_words(tuple(values))}"


def is_absent(unit: object, value: object) -> bool:
    """Whether a field has no value, or is false."""
    return value is None or value is False
