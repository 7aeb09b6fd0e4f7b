"""Objects that packages above `fp9` bring along through entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any


def plugin(group: str, name: str) -> Any:
    """The object that an installed package registers as `name` in a group of entry points; None without one."""
    found = list(entry_points(group=group, name=name))
    return found[0].load() if found else None
