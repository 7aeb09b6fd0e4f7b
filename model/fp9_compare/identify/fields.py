"""The hypotheses: what each field of an engine's record may be, read off the record and the catalogue.

A field is of a choice, a truth value, a format or an integer, or none; its values are those of its type, and those of
the catalogue. What the record refuses is no hypothesis. So a new field, a new choice and a new preset are tried because
they are there.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from fp9.engines import ENGINES, Engine
from fp9.formats import FixedFormat
from fp9.sums.operands import bit_range
from fp9_compare.identify.interface import Interface

NAME = "fitted"
"""What engines that are no presets are called."""

_MOST_RESETS = 2
_MOST_REFUSED = 6
"""Values of a field in a row for which no other field can be given up either, after which none is given up."""


@dataclass(frozen=True)
class Field:
    """A field of the record, and the values that a unit of some interface may have there."""

    name: str
    values: tuple[Any, ...]


@functools.lru_cache(maxsize=64)
def hypotheses(interface: Interface, codes: tuple[int, ...] = ()) -> tuple[Field, ...]:
    """Every field of the record but the name, in its order; `codes`: of NaN that the unit gave."""
    hints = typing.get_type_hints(Engine)
    every = [f.name for f in fields(Engine) if f.name != "name"]
    return tuple(Field(name, _taken(name, _values(name, hints[name], interface, codes))) for name in every)


@functools.lru_cache(maxsize=512)
def _taken(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that the record takes in some engine: the plain one, or a preset that uses the field."""
    plain = getattr(Engine(), name)
    users = [Engine(), *(preset for preset in ENGINES.values() if getattr(preset, name) != plain)]
    return tuple(value for value in values if any(with_values(user, {name: value}) is not None for user in users))


def _values(name: str, hint: Any, interface: Interface, codes: tuple[int, ...]) -> tuple[Any, ...]:
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    known = (getattr(engine, name) for engine in ENGINES.values())
    made = itertools.chain.from_iterable(_of_type(kind, interface) for kind in kinds)
    return tuple(dict.fromkeys([*known, *made, *(codes if _holds_codes(name, interface, codes) else ())]))


def _holds_codes(name: str, interface: Interface, codes: tuple[int, ...]) -> bool:
    """Whether a field is for codes of the result: the record takes one there, and not every number."""
    plain = Engine(NAME, interface.output)
    return bool(codes) and with_values(plain, {name: codes[0]}) is not None and with_values(plain, {name: 1}) is None


def _of_type(kind: type, interface: Interface) -> Sequence[Any]:
    """The values of a type: all of a choice, the whole numbers between the lowest bit of a sum and twice the depth."""
    if kind is type(None):
        return (None,)
    if kind is bool:
        return (False, True)
    if kind is int:
        return range(_lowest(interface), max(2 * interface.depth, _WIDEST) + 1)
    if issubclass(kind, Enum):
        return tuple(kind)
    return (interface.output,) if issubclass(kind, FixedFormat) else ()


_WIDEST = 64
"""No width in bits of a window or of a sum in hardware is beyond it."""


def _lowest(interface: Interface) -> int:
    """Exponent of the lowest bit that a product or a sum has."""
    product = sum(bit_range(fmt)[0] for fmt in (interface.a, interface.b))
    return min(product, bit_range(interface.output)[0])


def is_possible(engine: Engine, interface: Interface) -> bool:
    """Whether a unit may be this engine: its result is the interface's, and the operands alone decide it."""
    return engine.addend_format == interface.output and not engine.rounding.needs_bits


def presets(interface: Interface) -> list[Engine]:
    """The engines of the catalogue that a unit may be."""
    return [engine for engine in ENGINES.values() if is_possible(engine, interface)]


def changed(engine: Engine, field: Field, interface: Interface) -> Iterator[Engine]:
    """An engine with each other value of a field; after several refused ones, none for which others must change."""
    refused = 0
    for value in field.values:
        if value == getattr(engine, field.name):
            continue
        if refused < _MOST_REFUSED:
            found = _with(engine, field.name, value, interface)
            refused = 0 if found else refused + 1
            yield from found
        else:
            alone = with_values(engine, {field.name: value})
            if alone is not None and is_possible(alone, interface):
                yield alone


@functools.lru_cache(maxsize=1 << 14)
def _with(engine: Engine, name: str, value: Any, interface: Interface) -> tuple[Engine, ...]:
    """The engine with a value; where the record refuses it, with as few other fields as need be at their defaults."""
    return tuple(_suited(engine, {name: value}, interface))


def _suited(engine: Engine, values: dict[str, Any], interface: Interface) -> Iterator[Engine]:
    others = [f for f in fields(Engine) if f.name not in (*values, "name") and getattr(engine, f.name) != f.default]
    for count in range(_MOST_RESETS + 1):
        found = False
        for given_up in itertools.combinations(others, count):
            made = with_values(engine, {**values, **{f.name: f.default for f in given_up}})
            if made is not None and is_possible(made, interface):
                found = True
                yield made
                if count == 1:
                    yield from _repaired(engine, values, given_up[0].name, interface)
        if found:
            return


def _repaired(engine: Engine, values: dict[str, Any], other: str, interface: Interface) -> Iterator[Engine]:
    """The engine with values, and the whole number of another field changed to the nearest that the record takes."""
    own = getattr(engine, other)
    if not is_whole(own) or not 1 <= own <= _WIDEST:
        return
    for step in (-1, 1):
        tried = (with_values(engine, {**values, other: own + step * far}) for far in range(1, _FARTHEST))
        nearest = next((found for found in tried if found is not None), None)
        if nearest is not None and is_possible(nearest, interface):
            yield nearest


_FARTHEST = 24
"""Farthest that a number is moved to suit another field."""


def made(values: dict[str, Any]) -> Engine | None:
    """The engine of some fields, the others at their defaults; None where the record refuses them."""
    return with_values(Engine(), values)


def with_values(engine: Engine, values: dict[str, Any]) -> Engine | None:
    """The engine with values of some fields; None where the record refuses them."""
    try:
        return Engine(**{**vars(engine), "name": NAME, **values})
    except (ValueError, TypeError):
        return None


def near(engine: Engine, choices: Sequence[Field], interface: Interface) -> Iterator[Engine]:
    """Engines that differ in one field, and in those that it forces: of many whole numbers the sparse and next ones."""
    for field in choices:
        values = dict.fromkeys([*sparse(field.values), *beside(field, engine).values])
        yield from changed(engine, Field(field.name, tuple(values)), interface)


def beside(field: Field, engine: Engine) -> Field:
    """A field with the values that are not whole numbers, and those of these next to the engine's own."""
    own = getattr(engine, field.name)
    values = [v for v in field.values if not is_whole(v) or (is_whole(own) and abs(v - own) <= _BESIDE)]
    return Field(field.name, tuple(value for value in values if value != own))


def sparse(values: Sequence[Any]) -> list[Any]:
    """Values of a field, of many whole numbers those near zero, the powers of two, and some between."""
    whole = sorted(value for value in values if is_whole(value))
    if len(whole) <= _MANY:
        return list(values)
    stride = -(-len(whole) // _MANY)
    kept = {v for i, v in enumerate(whole) if i % stride == 0 or abs(v) <= _BESIDE or v & (v - 1) == 0}
    return [value for value in values if not is_whole(value) or value in kept]


def between(values: Sequence[Any], best: Any) -> list[Any]:
    """The whole numbers that `sparse` left out around one that it kept."""
    if not is_whole(best):
        return []
    kept = sorted(value for value in sparse(values) if is_whole(value))
    low = max((v for v in kept if v < best), default=best)
    high = min((v for v in kept if v > best), default=best)
    return [v for v in values if is_whole(v) and low < v < high and v != best]


_MANY = 32
_BESIDE = 4


def is_whole(value: object) -> bool:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def differences(engine: Engine, other: Engine) -> dict[str, Any]:
    """The fields in which another engine differs, and what it has there."""
    return {
        f.name: getattr(other, f.name)
        for f in fields(Engine)
        if f.name != "name" and getattr(engine, f.name) != getattr(other, f.name)
    }


def named(engine: Engine) -> Engine:
    """The engine as a preset with as few changed parameters as possible, under the name that `fp9.engine` reads."""
    base = min(ENGINES.values(), key=lambda preset: len(differences(preset, engine)))
    changes = ",".join(f"{name}={spelled(value)}" for name, value in differences(base, engine).items())
    return replace(engine, name=f"{base.name}({changes})" if changes else base.name)


def spelled(value: object) -> str:
    """A value as `fp9.engine` reads it."""
    return str(value.value) if isinstance(value, Enum) else str(value).lower()


key: Callable[[Engine], tuple[Any, ...]] = operator.attrgetter(*(f.name for f in fields(Engine) if f.name != "name"))
"""An engine without its name: equal where all fields are."""
