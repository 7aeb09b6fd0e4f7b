"""Objects that packages above `fp9` register through entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any


def plugin(group: str, name: str) -> Any:
    """Return the object that an installed package registers as `name` in a group of entry points; None if there is
    none.
    """
    found = list(entry_points(group=group, name=name))
    return found[0].load() if found else None
