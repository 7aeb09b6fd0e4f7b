"""C text of a unit's model before it becomes a header: its requirements and its own functions."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import Format


@dataclass(frozen=True, slots=True)
class ModelText:
    """Formats and shared parts that a model's functions need, its functions, and its state.

    `state` is the body of the struct that passes data from one operation to the next; empty without state. `reset`
    holds the statements that initialise it as the hardware's reset does. `body` holds the statements of
    `NAME_model`. `meaning` is an expression whose bit i is 1 if output i of `out` carries meaning; empty if every
    output always does.
    """

    formats: tuple[Format, ...]
    parts: tuple[str, ...]
    functions: str
    body: str
    state: str = ""
    reset: str = ""
    group: int = 1
    meaning: str = ""
