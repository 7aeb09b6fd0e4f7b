"""Look-up of objects that packages above `fp9` have registered as entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any


def plugin(group: str, name: str) -> Any:
    """Return the object that a package has registered as `name` in an entry point group, or None."""
    found = list(entry_points(group=group, name=name))
    return found[0].load() if found else None
