"""Check and convert the values of a mapping file. A ValueError names the key of an invalid value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")

Value = int | str


def parameter_text(parameters: Mapping[str, Value]) -> str:
    text = ", ".join(f".{name}({value})" for name, value in parameters.items())
    return f"#({text})" if text else ""


def check_known(path: Path, field: str, given: Any, known: Any) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(f"{path}: {field} names {unknown[0]!r}; the unit has {', '.join(known)}")


def identifier(path: Path, field: str, value: object) -> str:
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise ValueError(f"{path}: {field} {value!r} given; give a Verilog name")
    return value


def text(path: Path, field: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{path}: {field} {value!r} given; give a Verilog name, or a part of a port")
    return value


def pieces(path: Path, field: str, value: object) -> tuple[str, ...]:
    """Return port names or bit ranges, most significant first."""
    items = value if isinstance(value, list) else [value]
    return tuple(text(path, field, item) for item in items)


def inverted(path: Path, field: str, value: object) -> tuple[str, bool]:
    said = text(path, field, value)
    return identifier(path, field, said.removeprefix("!")), said.startswith("!")


def values(path: Path, field: str, said: Mapping[str, Any]) -> dict[str, Value]:
    """Return a mapping table in which each value is converted to Verilog text."""
    return {name: _value(path, f"{field}.{name}", value) for name, value in said.get(field, {}).items()}


def _value(path: Path, field: str, value: object) -> Value:
    match value:
        case int():  # and bool
            return int(value)
        case str():
            return '"' + value.replace('"', '\\"') + '"'
        # A Verilog type or a name in a package, such as `pkg::FP8`.
        case {"verilog": str(text)}:
            return text
        case _:
            raise ValueError(f'{path}: {field} = {value!r} given; give a number, a text or {{verilog = "..."}}')


def one_of(path: Path, field: str, value: object, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"{path}: {field} {value!r} given; give {' or '.join(known)}")
    return str(value)


def pin(
    path: Path, field: str, said: Mapping[str, Any] | None, word: str, known: tuple[str, str]
) -> tuple[str, bool] | None:
    """Return a port name, and whether the port is active-low or uses the falling clock edge."""
    if said is None:
        return None
    check_known(path, field, said, ("port", word))
    port = identifier(path, f"{field}.port", said.get("port"))
    return port, one_of(path, f"{field}.{word}", said.get(word, known[0]), known) == known[1]
