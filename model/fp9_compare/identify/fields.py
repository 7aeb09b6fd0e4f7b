"""Possible values of each parameter of an accumulator model.

The search tries every value of a parameter that its type allows or that a preset has.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fp9.engines import ENGINES, PARAMETERS, Engine, Parameter, Result
from fp9.formats import FixedFormat
from fp9.sums.operands import bit_range
from fp9_compare.identify.interface import Interface

NAME = "fitted"

_MOST_RESETS = 2
# Number of refused values in a row after which no other field is changed to make a value valid.
_MOST_REFUSED = 6


@dataclass(frozen=True)
class Field:
    """Field of an accumulator model, and the values of the field that the search tries."""

    name: str
    values: tuple[Any, ...]


@functools.lru_cache(maxsize=64)
def hypotheses(interface: Interface, codes: tuple[int, ...] = ()) -> tuple[Field, ...]:
    """Return all fields except the name. `codes` are the NaN codes of measured results."""
    return tuple(Field(name, _taken(name, _values(each, interface, codes))) for name, each in PARAMETERS.items())


@functools.lru_cache(maxsize=512)
def _taken(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    # Values that are valid in at least one accumulator model: the default or a preset.
    parameter = PARAMETERS[name]
    users = [Engine(), *(preset for preset in ENGINES.values() if parameter.of(preset) != parameter.default)]
    return tuple(value for value in values if any(with_values(user, {name: value}) is not None for user in users))


def _values(parameter: Parameter, interface: Interface, codes: tuple[int, ...]) -> tuple[Any, ...]:
    hint = parameter.type
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    known = map(parameter.of, ENGINES.values())
    made = itertools.chain.from_iterable(_of_type(kind, interface) for kind in kinds)
    return tuple(dict.fromkeys([*known, *made, *(codes if _holds_codes(parameter.name, interface, codes) else ())]))


def _holds_codes(name: str, interface: Interface, codes: tuple[int, ...]) -> bool:
    plain = Engine(NAME, Result(interface.output))
    return bool(codes) and with_values(plain, {name: codes[0]}) is not None and with_values(plain, {name: 1}) is None


def _of_type(kind: type, interface: Interface) -> Sequence[Any]:
    if kind is type(None):
        return (None,)
    if kind is bool:
        return (False, True)
    if kind is int:
        return range(_lowest(interface), max(2 * interface.depth, _WIDEST) + 1)
    if issubclass(kind, Enum):
        return tuple(kind)
    return (interface.output,) if issubclass(kind, FixedFormat) else ()


# Largest width of a window or sum in hardware, in bits.
_WIDEST = 64


def _lowest(interface: Interface) -> int:
    product = sum(bit_range(fmt)[0] for fmt in (interface.a, interface.b))
    return min(product, bit_range(interface.output)[0])


def is_possible(engine: Engine, interface: Interface) -> bool:
    return engine.addend_format == interface.output and not engine.result.rounding.needs_bits


def presets(interface: Interface) -> list[Engine]:
    return [engine for engine in ENGINES.values() if is_possible(engine, interface)]


def changed(engine: Engine, field: Field, interface: Interface) -> Iterator[Engine]:
    """Yield copies of the accumulator model `engine` in which `field` has a different value.

    If a new value of `field` conflicts with other fields of `engine`, the copies also change the conflicting fields.
    """
    refused = 0
    for value in field.values:
        if value == PARAMETERS[field.name].of(engine):
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
    # If the new value is invalid, as few other fields as possible are reset to their defaults, in every way that makes
    # it valid.
    return tuple(_suited(engine, {name: value}, interface))


def _suited(engine: Engine, values: dict[str, Any], interface: Interface) -> Iterator[Engine]:
    others = [p for p in PARAMETERS.values() if p.name not in values and p.of(engine) != p.default]
    for count in range(_MOST_RESETS + 1):
        found = False
        for given_up in itertools.combinations(others, count):
            made = with_values(engine, {**values, **{p.name: p.default for p in given_up}})
            if made is not None and is_possible(made, interface):
                found = True
                yield made
                if count == 1:
                    yield from _repaired(engine, values, given_up[0].name, interface)
        if found:
            return


def _repaired(engine: Engine, values: dict[str, Any], other: str, interface: Interface) -> Iterator[Engine]:
    own = PARAMETERS[other].of(engine)
    if not is_whole(own) or not 1 <= own <= _WIDEST:
        return
    for step in (-1, 1):
        tried = (with_values(engine, {**values, other: own + step * far}) for far in range(1, _FARTHEST))
        nearest = next((found for found in tried if found is not None), None)
        if nearest is not None and is_possible(nearest, interface):
            yield nearest


_FARTHEST = 24


def made(values: dict[str, Any]) -> Engine | None:
    return with_values(Engine(), values)


def with_values(engine: Engine, values: dict[str, Any]) -> Engine | None:
    """Return a changed copy, or None if a value is invalid."""
    try:
        return engine.changed(name=NAME, **values)
    except (ValueError, TypeError):
        return None


def near(engine: Engine, choices: Sequence[Field], interface: Interface) -> Iterator[Engine]:
    """Yield copies of the accumulator model `engine` in which one field of `choices` has a different value.

    If the new value of a field conflicts with other fields of `engine`, the copies also change the conflicting fields.
    """
    for field in choices:
        values = dict.fromkeys([*sparse(field.values), *beside(field, engine).values])
        yield from changed(engine, Field(field.name, tuple(values)), interface)


def beside(field: Field, engine: Engine) -> Field:
    """Return a copy of `field` with fewer values to try: without integers far from the field's value in `engine`."""
    # The copy also omits the field's value in `engine`.
    own = PARAMETERS[field.name].of(engine)
    values = [v for v in field.values if not is_whole(v) or (is_whole(own) and abs(v - own) <= _BESIDE)]
    return Field(field.name, tuple(value for value in values if value != own))


def sparse(values: Sequence[Any]) -> list[Any]:
    """If `values` has many integers, keep only small integers, powers of two, and integers at regular intervals."""
    whole = sorted(value for value in values if is_whole(value))
    if len(whole) <= _MANY:
        return list(values)
    stride = -(-len(whole) // _MANY)
    kept = {v for i, v in enumerate(whole) if i % stride == 0 or abs(v) <= _BESIDE or v & (v - 1) == 0}
    return [value for value in values if not is_whole(value) or value in kept]


def between(values: Sequence[Any], best: Any) -> list[Any]:
    if not is_whole(best):
        return []
    kept = sorted(value for value in sparse(values) if is_whole(value))
    low = max((v for v in kept if v < best), default=best)
    high = min((v for v in kept if v > best), default=best)
    return [v for v in values if is_whole(v) and low < v < high and v != best]


_MANY = 32
_BESIDE = 4


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def differences(engine: Engine, other: Engine) -> dict[str, Any]:
    """Return the fields in which two accumulator models differ, with the values of the second model."""
    return {name: each.of(other) for name, each in PARAMETERS.items() if each.of(engine) != each.of(other)}


def named(engine: Engine) -> Engine:
    """Return the model with a name that `fp9.engine` can read, such as `preset(field=value,...)`."""
    base = min(ENGINES.values(), key=lambda preset: len(differences(preset, engine)))
    changes = ",".join(f"{name}={spelled(value)}" for name, value in differences(base, engine).items())
    return engine.changed(name=f"{base.name}({changes})" if changes else base.name)


def spelled(value: object) -> str:
    """Return a text that `fp9.engine` accepts as a field value."""
    return str(value.value) if isinstance(value, Enum) else str(value).lower()


# All fields except the name. Equal accumulator models have equal keys.
key: Callable[[Engine], tuple[Any, ...]] = operator.attrgetter(*(each.path for each in PARAMETERS.values()))
