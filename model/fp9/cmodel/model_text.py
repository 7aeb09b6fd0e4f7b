"""C text of a unit's golden model, from which a header is made."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import Format


@dataclass(frozen=True, slots=True)
class ModelText:
    """C functions and state of a unit's golden model, and the formats and shared C files that the functions use.

    `body` holds the C statements of the function `NAME_model`. `state` is the body of a C struct that holds the
    unit's registers between operations. For a unit without state, `state` is empty. `reset` holds the C statements
    that set the state to its value after a hardware reset. `group` is the number of operations that one call
    computes. `meaning` is a C expression: bit i of its value is 1 if output i is defined. `meaning` is empty if all
    outputs are always defined.
    """

    formats: tuple[Format, ...]
    parts: tuple[str, ...]
    functions: str
    body: str
    state: str = ""
    reset: str = ""
    group: int = 1
    meaning: str = ""
