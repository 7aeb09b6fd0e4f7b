"""Look-up of objects that other packages, such as `fp9_sim`, have registered as entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any


def plugin(group: str, name: str) -> Any:
    found = list(entry_points(group=group, name=name))
    return found[0].load() if found else None
