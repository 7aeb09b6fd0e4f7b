"""Text that a user gives: what is no UTF-8 or no TOML is one sentence that names the file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def not_text(error: UnicodeDecodeError) -> str:
    """The words for bytes that are not text."""
    return f"is not text in UTF-8: byte {error.object[error.start]:#04x} at position {error.start}"


def toml_of(path: Path, what: str) -> dict[str, Any]:
    """The table of a TOML file that describes `what`. Raises ValueError for another file, OSError for none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} {not_text(error)}; give a TOML file that describes {what}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not a TOML file: {error}; give one that describes {what}") from None
