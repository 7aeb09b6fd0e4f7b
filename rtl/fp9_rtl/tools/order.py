"""Order of objects that depend on each other, such as cells of a netlist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Node = TypeVar("_Node")


def dependencies_first(roots: Iterable[_Node], needs: Callable[[_Node], Iterable[_Node]]) -> Iterator[_Node]:
    """Yield the roots and all their dependencies by depth-first search, dependencies first.

    The dependencies must have no cycle. Objects are compared by `id`, so the caller must keep a reference to every
    object that `needs` returns.
    """
    done: set[int] = set()
    pending = [(root, False) for root in reversed([*roots])]
    while pending:
        one, entered = pending.pop()
        if entered:
            yield one
        elif id(one) not in done:
            done.add(id(one))
            pending.append((one, True))
            pending += [(needed, False) for needed in reversed([*needs(one)])]
