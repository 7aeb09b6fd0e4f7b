"""Random specifications, spread so that each pair of values of two fields meets: covering arrays, found greedily."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum
from random import Random

from tests.units.values import LEFT_OUT, Table, values

from fp9.engines import PARAMETERS, Engine
from fp9.formats import FixedFormat, Format
from fp9.units import Unit
from fp9.units.toml import KINDS, build, ordered_fields
from fp9_rtl.components import check_offered

CANDIDATES = 12
"""Accepted specifications of which the one with most new pairs is taken."""

WITH_CIRCUIT = 0.9
"""Share of seeds that take a candidate with hardware, if one was found. Models alone check less of a unit."""

MOST_REFUSED = 150
"""Refused specifications after which fewer candidates have to do."""

Value = tuple[str, str]
"""A field, and the class of its value."""


@dataclasses.dataclass(frozen=True)
class Refused:
    """A specification that a constructor refused, and its error."""

    fields: Table
    error: Exception


def draw(rng: Random, kind: str) -> dict[str, object]:
    """A specification of a kind as TOML has it, accepted or not."""
    record = KINDS[kind]
    fields: dict[str, object] = {"kind": kind}
    for field in ordered_fields(record):
        # Registers' options need registers.
        if field.kw_only and (not fields.get("stages") or rng.random() < 0.5):
            continue
        if field.default is not dataclasses.MISSING and field.name != "stages" and rng.random() < 0.25:
            continue
        value = values(record, field.name)(rng, fields)
        if value is not LEFT_OUT:
            fields[field.name] = value
    return fields


def kinds_by_fields(kinds: Sequence[str]) -> list[int]:
    """Weights of kinds: the number of their fields, those of an engine counted."""
    named = {kind: [f.name for f in dataclasses.fields(KINDS[kind])] for kind in kinds}
    return [len(named[kind]) + len(PARAMETERS) * ("engine" in named[kind]) for kind in kinds]


# --- classes of values ----------------------------------------------------------------------------------------------


def value_class(value: object) -> str:
    """The class of a field's value in counts of pairs."""
    match value:
        case FixedFormat() if value.source == "description":
            return f"described {value.specials.name.lower()}{'' if value.subnormals else ', no subnormals'}"
        case Format():
            return value.name.partition("(")[0].partition(",")[0]
        case Enum():
            return str(value.value)
        case bool() | None:
            return str(value).lower()
        case int():
            return str(value) if -4 <= value <= 8 else f"{'-' * (value < 0)}2^{abs(value).bit_length() - 1}"
        case _:
            return str(getattr(value, "name", value))


def classes(unit: Unit) -> list[Value]:
    """The values of all fields of a unit and its engine; several of a field that holds several."""
    found: list[Value] = []
    for name, value in _flat(unit):
        items = value if isinstance(value, tuple) else (value,)
        found += [(name, each) for each in sorted({value_class(item) for item in items})]
        found += [(f"{name}, number", str(len(items)))] if isinstance(value, tuple) else []
    return found


def _flat(record: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if isinstance(value, Engine):
            yield field.name, value.name.partition("(")[0]
            yield from ((f"{field.name}.{name}", each) for name, each in value.parameters.items())
        elif field.name != "name":
            yield prefix + field.name, value


class Spread:
    """What specifications so far hold: values and pairs of values, by kind."""

    def __init__(self) -> None:
        self.units: Counter[str] = Counter()
        self.values: defaultdict[str, Counter[Value]] = defaultdict(Counter)
        self.pairs: defaultdict[str, set[tuple[Value, Value]]] = defaultdict(set)

    def add(self, unit: Unit) -> None:
        """Count a specification."""
        found = classes(unit)
        self.units[unit.kind] += 1
        self.values[unit.kind].update(found)
        self.pairs[unit.kind].update(_pairs(found))

    def new_pairs(self, unit: Unit) -> int:
        """Pairs of a specification that none before had."""
        met = self.pairs[unit.kind]
        return sum(pair not in met for pair in _pairs(classes(unit)))

    def possible(self, kind: str) -> int:
        """Pairs of values of two fields, each of which some specification of the kind had."""
        fields = Counter(field for field, _ in self.values[kind])
        return sum(one * other for one, other in itertools.combinations(fields.values(), 2))

    def next(self, seed: int, kinds: Sequence[str]) -> tuple[Unit, list[Refused]]:
        """The specification of a seed that adds most pairs to these, and those that were refused on the way."""
        rng, best, refused, accepted = Random(seed), None, list[Refused](), 0
        kind = rng.choices(kinds, weights=kinds_by_fields(kinds))[0]
        prefers_circuit = rng.random() < WITH_CIRCUIT
        most = (False, -1)
        while accepted < CANDIDATES and (accepted == 0 or len(refused) < MOST_REFUSED):
            fields = draw(rng, kind)
            try:
                unit = build(fields)
            except Exception as error:  # a refusal is judged by its caller
                refused.append(Refused(fields, error))
                continue
            accepted += 1
            if (rank := (prefers_circuit and _has_hardware(unit), self.new_pairs(unit))) > most:
                best, most = unit, rank
        assert best is not None
        return best, refused


def _has_hardware(unit: Unit) -> bool:
    try:
        check_offered(unit)
    except ValueError:
        return False
    return True


def _pairs(found: list[Value]) -> Iterator[tuple[Value, Value]]:
    return ((one, other) for one, other in itertools.combinations(found, 2) if one[0] != other[0])


def first_units(seed: int, count: int, kinds: Sequence[str] = tuple(KINDS)) -> list[Unit]:
    """So many specifications, spread among themselves; the same seed gives the same."""
    spread, units = Spread(), []
    for number in range(seed, seed + count):
        unit, _ = spread.next(number, kinds)
        spread.add(unit)
        units.append(unit)
    return units
