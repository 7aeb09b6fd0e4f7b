"""C text of a unit's golden model, for a generated header."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import Format


@dataclass(frozen=True, slots=True)
class ModelText:
    """C functions and state of a unit's golden model.

    `body` holds the C statements of the function `NAME_model`. `state` is the body of a C struct with the unit's
    registers, and `reset` holds C statements that reset the registers. One call computes `group` operations. Bit i of
    the C expression `meaning` is 1 if output i is defined.
    """

    formats: tuple[Format, ...]
    parts: tuple[str, ...]
    functions: str
    body: str
    state: str = ""
    reset: str = ""
    group: int = 1
    meaning: str = ""
