"""Read and write scaling rules and recipes as text of the form `name(field=value,...)`.

A number can be written as a power of two, such as `2^24`. A list of numbers is written in parentheses, such as `(1, 20,
50)`. The text `none` stands for the Python value None.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

_Rule = TypeVar("_Rule")
_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_POWER = re.compile(r"2\^([+-]?\d+)")
# Smallest power of two that is written as 2^N.
_LARGE = 1 << 12


def call(text: str, what: str) -> tuple[str, dict[str, str]]:
    """Parse a text `name(field=value,...)` into the name and the values of the fields."""
    found = _CALL.fullmatch(text)
    if found is None or not _is_balanced(text):
        raise ValueError(f"{what} {text!r} given; write name or name(field=value,...)")
    settings: dict[str, str] = {}
    for item in items(found[2] or ""):
        field, equals, value = item.partition("=")
        if not equals or not field.strip() or not value.strip():
            raise ValueError(f"{what} {text!r}: {item.strip()!r} is not of the form field=value")
        if field.strip() in settings:
            raise ValueError(f"{what} {text!r} gives {field.strip()} twice; give it once")
        settings[field.strip()] = value.strip()
    return found[1], settings


def items(text: str) -> list[str]:
    """Split a text at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]] if text.strip() else []


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def rule(text: str, known: Mapping[str, type[_Rule]], what: str) -> _Rule:
    """Read a scaling rule from a text such as "delayed(history=16)"."""
    name, settings = call(text, what)
    if name not in known:
        raise ValueError(f"{what} {name!r} is not known; choose one of {', '.join(known)}")
    kind = known[name]
    hints = typing.get_type_hints(kind)
    names = [f.name for f in _fields(kind)]
    values = {}
    for field, value in settings.items():
        if field not in names:
            raise ValueError(f"{what} {name} has no field {field!r}; its fields are {', '.join(names)}")
        values[field] = read(value, hints[field], f"{what} {name}: {field}")
    return kind(**values)


def spelled(record: object, name: str) -> str:
    """Return a text such as "delayed(history=16)" without fields that have default values."""
    said = [f for f in _fields(type(record)) if f.default is MISSING or getattr(record, f.name) != f.default]
    settings = ",".join(f"{f.name}={word(getattr(record, f.name))}" for f in said)
    return f"{name}({settings})" if settings else name


def _fields(kind: type) -> tuple[Field[Any], ...]:
    return fields(kind)


# --- single values --------------------------------------------------------------------------------------------------


def read(text: str, hint: object, where: str) -> object:
    if isinstance(hint, types.UnionType):
        options = typing.get_args(hint)
        if text.lower() == "none" and types.NoneType in options:
            return None
        return read(text, next(option for option in options if option is not types.NoneType), where)
    if typing.get_origin(hint) is tuple:
        inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
        return tuple(read(item.strip(), typing.get_args(hint)[0], where) for item in items(inner))
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{where}={text} given; give true or false")
        return text.lower() == "true"
    return _number(text, hint, where) if hint in (int, float) else text


def _number(text: str, hint: object, where: str) -> int | float:
    power = _POWER.fullmatch(text)
    try:
        number = 2.0 ** int(power[1]) if power else float(text)
    except (ValueError, OverflowError):
        number = float("nan")
    if number != number or (hint is int and (abs(number) == float("inf") or number != int(number))):
        raise ValueError(f"{where}={text} given; give {'an integer' if hint is int else 'a number'}")
    return int(number) if hint is int else number


def word(value: object) -> str:
    if isinstance(value, tuple):
        return f"({','.join(word(item) for item in value)})"
    if isinstance(value, float) and value.is_integer():
        whole = int(value)
        return f"2^{whole.bit_length() - 1}" if whole >= _LARGE and whole & (whole - 1) == 0 else str(whole)
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
