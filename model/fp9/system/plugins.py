"""Look-up of objects that packages above `fp9` register through entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any


def plugin(group: str, name: str) -> Any:
    """Return the object that a package registers as `name` in an entry point group, or None without such an object."""
    found = list(entry_points(group=group, name=name))
    return found[0].load() if found else None
