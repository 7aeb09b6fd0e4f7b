"""Entries of a form for editing a unit specification: names, values as text, and choices."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum

from fp9.engines import ENGINES, Engine
from fp9.formats import FixedFormat, Format, every_format
from fp9.units.base import Unit
from fp9.units.toml import as_table, ordered_fields, value_text


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """Form entry for one field of a unit specification: name, value as text, and accepted names."""

    name: str
    text: str
    # Empty for a numeric field. Formats with parameters, such as `int8(bias=3)`, are left out.
    offered: tuple[str, ...]
    # Whether the field holds a list of values.
    several: bool


def entries(spec: Unit) -> list[Entry]:
    """Return an entry for each field except `name`, in the order of the TOML file."""
    hints, values = typing.get_type_hints(type(spec)), as_table(spec, with_defaults=True)
    names = [field.name for field in ordered_fields(type(spec)) if field.name != "name"]
    return [Entry(name, _text(values.get(name, "")), _offered(hints[name]), _is_tuple(hints[name])) for name in names]


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(_text, value))
        case Mapping():
            return value_text(value)
        case _:
            return str(value)


def _is_tuple(hint: object) -> bool:
    return typing.get_origin(hint) is tuple


def _offered(hint: object) -> tuple[str, ...]:
    if _is_tuple(hint) or isinstance(hint, types.UnionType):
        return _offered(typing.get_args(hint)[0])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return tuple(str(member.value) for member in hint)
    return _NAMES.get(hint, ())


_NAMES: dict[object, tuple[str, ...]] = {
    bool: ("false", "true"),
    Format: tuple(fmt.name for fmt in every_format()),
    FixedFormat: tuple(fmt.name for fmt in every_format() if isinstance(fmt, FixedFormat)),
    Engine: tuple(ENGINES),
}
