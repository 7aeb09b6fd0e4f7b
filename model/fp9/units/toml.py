"""Functions that read and write unit specifications as TOML, and apply changes such as `stages=2`.

A TOML file names the `kind` of unit and the fields of its specification:

    kind = "fma"
    name = "my_fma"
    a = ["e4m3", "hfp8_143(bias=2)"]
    b = "hif8"
    engine = "dlfloat"
    stages = 2

The field `engine` selects an accumulator model by the name of a preset, or by a table with the engine's field groups:

    engine = { result = { format = "fp16" }, step = { products = 4 }, window = { width = 20 } }

`load` reads a TOML file, and `dumps` writes TOML text.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

from fp9.engines import GROUPS, PARAMETERS, Engine, engine
from fp9.formats import FixedFormat, Format, format
from fp9.formats.blocks import BlockFormat, ScaleRule, block_format, scale_rule
from fp9.formats.rounding import choice
from fp9.system.reading import toml_of
from fp9.units import CATALOGUE, Unit, unit

KINDS: dict[str, type[Unit]] = {spec.kind: type(spec) for spec in CATALOGUE.values()}

# A comma inside parentheses or before `name=` does not separate items.
_OUTER_COMMA = re.compile(r",(?![^(]*\))(?!\s*[a-z_]+=)", re.IGNORECASE)


def load(source: str | Path, settings: Iterable[str] = ()) -> Unit:
    """Return a unit from the catalogue or from a TOML file, with fields changed by `settings`.

    `source` is the name of a catalogue unit, or a path that ends in `.toml`. A setting has the form `field=value`, such
    as `a=e4m3,e5m2` or `engine.window.width=20`. Raises ValueError for an invalid specification, and OSError if the
    file cannot be read.
    """
    text = str(source)
    fields = as_table(unit(text)) if not text.endswith(".toml") else toml_of(Path(text), "a unit")
    _set(fields, settings)
    return build(fields, where=text)


def build(described: Mapping[str, object], where: str = "unit") -> Unit:
    """Return the unit that a table of specification fields describes.

    Raises ValueError for an invalid specification. `where` names the table in error messages.
    """
    kind = described.get("kind")
    if kind is None:
        raise ValueError(f"{where} needs the field 'kind'; give one of {', '.join(KINDS)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{where}: kind {kind!r} given; give one of {', '.join(KINDS)}")
    cls = KINDS[kind]
    readers = _readers(cls)
    values = {}
    for field, value in described.items():
        if field == "kind":
            continue
        if field not in readers:
            raise ValueError(f"{where}: {kind} has no field {field!r}; its fields are {', '.join(readers)}")
        values[field] = readers[field](value, f"{where}: {field}")
    missing = [f.name for f in ordered_fields(cls) if f.default is dataclasses.MISSING and f.name not in values]
    if missing:
        raise ValueError(f"{where}: {kind} needs the field {missing[0]!r}; add it")
    return cls(**values)  # type: ignore[arg-type]


def dumps(spec: Unit) -> str:
    """Return a unit specification as TOML text, from which `load` reads an equal unit."""
    return "".join(f"{field} = {value_text(value)}\n" for field, value in as_table(spec).items())


# --- text to fields ------------------------------------------------------------------------------------------------


def _set(described: dict[str, object], settings: Iterable[str]) -> None:
    fields = set()
    for setting in settings:
        field = setting.partition("=")[0].strip()
        if field in fields:
            raise ValueError(f"{field} is set twice; set it once")
        fields.add(field)
        _apply(described, setting)


def _apply(described: dict[str, object], setting: str) -> None:
    field, equals, text = setting.partition("=")
    if not equals or not field:
        raise ValueError(f"setting {setting!r} is not of the form field=value")
    outer, *inner = field.strip().split(".")
    if not inner:
        described[outer] = _value(text)
        return
    if outer != "engine":
        raise ValueError(f"setting {setting!r}: only engine has fields of its own; write engine.window.width=value")
    base = described.get("engine", {})
    table = dict(base) if isinstance(base, Mapping) else _engine_table(engine(str(base)))
    described[outer] = _with(table, inner, _value(text)) | {"name": "custom"}


def _with(table: Mapping[str, object], path: list[str], value: object) -> dict[str, object]:
    if len(path) == 1:
        return {**table, path[0]: value}
    inner = table.get(path[0], {})
    return {**table, path[0]: _with(inner if isinstance(inner, Mapping) else {}, path[1:], value)}


def _value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def ordered_fields(cls: type[Unit]) -> tuple[dataclasses.Field[object], ...]:
    """Return the fields in the order of a TOML file, with keyword-only fields last."""
    return tuple(sorted(dataclasses.fields(cls), key=lambda f: bool(f.kw_only)))


_Reader = Callable[[object, str], object]
_Found = TypeVar("_Found")


# Resolving type hints takes longer than reading the values of a specification.
_hints = functools.cache(typing.get_type_hints)


def _readers(cls: type[object]) -> dict[str, _Reader]:
    hints = _hints(cls)  # type: ignore[arg-type]
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    return {name: _reader(hints[name]) for name in names}


def _reader(hint: object) -> _Reader:
    if typing.get_origin(hint) is tuple:
        item = _reader(typing.get_args(hint)[0])
        return lambda value, where: tuple(item(v, where) for v in _items(value))
    if isinstance(hint, types.UnionType):
        return _reader(next(arg for arg in typing.get_args(hint) if arg is not types.NoneType))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _member(hint)
    return _SCALARS[hint]


def _items(value: object) -> list[object]:
    if isinstance(value, list | tuple):
        return list(value)
    return [_value(item.strip()) for item in _OUTER_COMMA.split(value)] if isinstance(value, str) else [value]


def names_in(text: str) -> list[str]:
    """Split a list of names, such as `hif8,hfp8_143(bias=2)`."""
    return [str(item) for item in _items(text)]


def _of_type(kind: type) -> _Reader:
    def read(value: object, where: str) -> object:
        if type(value) is not kind:
            raise ValueError(f"{where}: {value!r} given; give {_WORDS[kind]}")
        return value

    return read


_WORDS = {bool: "true or false", int: "an integer", str: "a text"}


def _member(kind: type[Enum]) -> _Reader:
    return lambda value, where: choice(kind, str(value), where)


def _named(find: Callable[[str], object], what: str) -> _Reader:
    def read(value: object, where: str) -> object:
        if not isinstance(value, str):
            raise ValueError(f"{where}: {value!r} given; give the name of {what}")
        return _found(find, value, where)

    return read


def _found(find: Callable[[str], _Found], name: str, where: str) -> _Found:
    try:
        return find(name)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _read_engine(value: object, where: str) -> Engine:
    if isinstance(value, str):
        return _found(engine, value, where)
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: {value!r} given; give an engine's name or a table of its fields")
    return _read_record(Engine, value, where)


def _read_group(group: type[object]) -> _Reader:
    def read(value: object, where: str) -> object:
        if not isinstance(value, Mapping):
            listing = ", ".join(_readers(group))
            raise ValueError(f"{where}: {value!r} given; give a table of its fields, which are {listing}")
        return _read_record(group, value, where)

    return read


def _read_record(record: type[_Found], value: Mapping[str, object], where: str) -> _Found:
    readers = _readers(record)
    for key in value:
        if key not in readers:
            known = PARAMETERS.get(key)
            advice = f"write engine.{known.path}" if known else f"its fields are {', '.join(readers)}"
            raise ValueError(f"{where} has no field {key!r}; {advice}")
    return record(**{key: readers[key](item, f"{where}.{key}") for key, item in value.items()})


_SCALARS: dict[object, _Reader] = {
    str: _of_type(str),
    int: _of_type(int),
    bool: _of_type(bool),
    Format: _named(format, "a format"),
    FixedFormat: _named(format, "a format"),
    BlockFormat: _named(block_format, "a block format"),
    ScaleRule: _named(scale_rule, "a scale rule"),
    Engine: _read_engine,
    **{group: _read_group(group) for group in GROUPS.values()},
}


# --- fields to text ------------------------------------------------------------------------------------------------


def as_table(spec: Unit, with_defaults: bool = False) -> dict[str, object]:
    """Return the fields as TOML values, without None and without keyword-only fields that have default values."""
    every = ordered_fields(type(spec))
    said = [f for f in every if with_defaults or not f.kw_only or getattr(spec, f.name) != f.default]
    values = {f.name: getattr(spec, f.name) for f in said}
    return {"kind": spec.kind} | {name: _plain(value) for name, value in values.items() if value is not None}


def _engine_table(spec: Engine) -> dict[str, object]:
    table: dict[str, object] = {} if spec.name == Engine().name else {"name": spec.name}
    for group in GROUPS:
        said = [p for p in PARAMETERS.values() if p.group == group and p.of(spec) != p.default]
        table |= {group: {p.field: _plain(p.of(spec)) for p in said}} if said else {}
    return table


def _plain(value: object) -> object:
    match value:
        case tuple():
            return [_plain(item) for item in value]
        case Format() | BlockFormat() | ScaleRule():
            return value.name
        case Engine():
            return value.name if _is_preset(value) else _engine_table(value)
        case Enum():
            return value.value
        case _:
            return value


def _is_preset(spec: Engine) -> bool:
    try:
        return engine(spec.name) == spec
    except ValueError:
        return False


def value_text(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {value_text(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    return json.dumps(value)


__all__ = ["KINDS", "as_table", "build", "dumps", "load", "names_in", "ordered_fields", "value_text"]
