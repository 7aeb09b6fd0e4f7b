"""C text of a unit's golden model, for a generated header."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import Format


@dataclass(frozen=True, slots=True)
class ModelText:
    """C functions and state of a unit's golden model."""

    formats: tuple[Format, ...]
    parts: tuple[str, ...]  # shared C files that the functions use
    functions: str
    body: str  # C statements of the function `NAME_model`
    state: str = ""  # body of a C struct with the unit's registers
    reset: str = ""  # C statements that reset the registers
    group: int = 1  # number of operations that one call computes
    meaning: str = ""  # C expression whose bit i is 1 if output i is defined
