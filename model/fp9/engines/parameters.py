"""Short names for the fields of accumulator models (engines), as in `hopper(window=20)`."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any

from fp9.engines.groups import Chunk, NanPolicy, Result, Step, Window

GROUPS: dict[str, type[Any]] = {"result": Result, "step": Step, "window": Window, "chunk": Chunk, "nan": NanPolicy}
"""Classes of an engine's field groups, by the name of the group."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Short name of a field of an accumulator model, as in `hopper(window=20)`."""

    name: str
    group: str
    field: str

    @property
    def path(self) -> str:
        """Return the path of the field in unit files and in Python, such as `window.width`."""
        return f"{self.group}.{self.field}"

    @property
    def type(self) -> Any:
        """Return the type of the engine field."""
        return typing.get_type_hints(GROUPS[self.group])[self.field]

    @property
    def default(self) -> Any:
        """Return the default value of the engine field."""
        return getattr(GROUPS[self.group](), self.field)

    def of(self, engine: Any) -> Any:
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
"""All engine parameters by name. Every field of an engine has a parameter."""
