"""C text of a unit's model, before it becomes a header."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import Format


@dataclass(frozen=True, slots=True)
class ModelText:
    """C functions and state of a unit's model. The functions use the formats `formats` and the source files `parts`.

    - `body`: the statements of `NAME_model`.
    - `state`: the body of the struct that passes data from one operation to the next. `state` is empty if the unit
    has no state.
    - `reset`: the statements that initialise the state as the hardware's reset does.
    - `meaning`: an expression whose bit i is 1 if output i of `out` is defined. `meaning` is empty if all outputs
    are always defined.
    """

    formats: tuple[Format, ...]
    parts: tuple[str, ...]
    functions: str
    body: str
    state: str = ""
    reset: str = ""
    group: int = 1
    meaning: str = ""
