"""The text of a unit's model before it becomes a header: what it needs, and its own functions."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import Format


@dataclass(frozen=True, slots=True)
class ModelText:
    """Formats and shared parts that a model's functions need, its functions, and its state.

    `state` is the body of the struct of what one operation leaves for the next, empty where there is none; `reset` the
    statements that set it as the hardware's reset does; `body` those of `NAME_model`. `meaning` is the expression whose
    bit i is 1 where output i of `out` carries meaning, empty where all do always.
    """

    formats: tuple[Format, ...]
    parts: tuple[str, ...]
    functions: str
    body: str
    state: str = ""
    reset: str = ""
    group: int = 1
    meaning: str = ""
