"""Parameters of engines: short names that change a preset, `hopper(window=20)`, and the fields that they mean."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any

from fp9.engines.groups import Chunk, NanPolicy, Result, Step, Window

GROUPS: dict[str, type[Any]] = {"result": Result, "step": Step, "window": Window, "chunk": Chunk, "nan": NanPolicy}
"""The groups of an engine's fields, by the name of the group."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of presets' names, and the field of an engine that it means."""

    name: str
    group: str
    field: str

    @property
    def path(self) -> str:
        """The field as unit files and Python have it, such as `window.width`."""
        return f"{self.group}.{self.field}"

    @property
    def type(self) -> Any:
        """The type of the field."""
        return typing.get_type_hints(GROUPS[self.group])[self.field]

    @property
    def default(self) -> Any:
        """The value of an engine that does not give the field."""
        return getattr(GROUPS[self.group](), self.field)

    def of(self, engine: Any) -> Any:
        """The value that an engine has."""
        return getattr(getattr(engine, self.group), self.field)


PARAMETERS: dict[str, Parameter] = {
    name: Parameter(name, *path.split("."))
    for name, path in (
        ("result", "result.format"),
        ("rounding", "result.rounding"),
        ("products", "step.products"),
        ("window", "window.width"),
        ("truncation", "window.truncation"),
        ("addend", "window.addend"),
        ("zero_exponent", "window.zero_exponent"),
        ("interleaved", "window.interleaved"),
        ("exact", "step.exact"),
        ("chunk", "chunk.length"),
        ("promotion", "chunk.promotion"),
        ("scaling", "step.scaling"),
        ("zero_bypass", "nan.zero_bypass"),
        ("interleave", "chunk.interleave"),
        ("overflow", "result.overflow"),
        ("group", "step.group"),
        ("flush_result", "result.flush"),
        ("flush_addend", "result.flush_addend"),
        ("nan", "nan.code"),
        ("invalid_nan", "nan.invalid_code"),
        ("infinity_run", "nan.infinity_run"),
    )
}
"""Every parameter by its name; each field of a group has one."""
