"""Hooks, which are tables with one function per kind of unit.

A package defines a `Hook` for a task that differs between kinds of units, such as computing results or building RTL.
`HOOKS` lists the hooks of all loaded packages. `missing` reports the hooks that lack a function for a new kind of unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from fp9.units.base import Unit

P = ParamSpec("P")
R = TypeVar("R")

HOOKS: dict[str, Hook[..., Any]] = {}
"""The hooks of all loaded packages, by name."""


class Hook(Generic[P, R]):
    """A table of functions by kind of unit. Calling the hook calls the function for the unit's class or base class.

    `otherwise` is the function for kinds of units without a row. Without `otherwise`, a call for a kind without a row
    raises ValueError. If `every_kind` is true, every kind of unit needs a row.
    """

    def __init__(
        self,
        name: str,
        rows: Mapping[type[Unit], Callable[Concatenate[Any, P], R]],
        otherwise: Callable[Concatenate[Any, P], R] | None = None,
        every_kind: bool = True,
    ) -> None:
        self.name, self.rows, self._otherwise, self.every_kind = name, dict(rows), otherwise, every_kind
        HOOKS[name] = self

    def register(self, kind: type[Unit], function: Callable[Concatenate[Any, P], R]) -> None:
        """Add the function for a kind of unit."""
        self.rows[kind] = function

    def of(self, kind: type[Unit]) -> Callable[Concatenate[Any, P], R] | None:
        """Return the function for a kind of unit, or None if the hook has no function for the kind."""
        return next((self.rows[each] for each in kind.__mro__ if each in self.rows), self._otherwise)

    def __call__(self, unit: Unit, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of the function for the unit's kind. Raises ValueError for a kind without a function."""
        function = self.of(type(unit))
        if function is None:
            kinds = ", ".join(kind.kind for kind in self.rows)
            raise ValueError(f"{unit.name}: there is no {self.name} for units of kind {unit.kind}; give one of {kinds}")
        return function(unit, *args, **kwargs)

    def given(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[Unit], R]:
        """Return a function of a unit that calls the hook with the unit and the given arguments."""
        return lambda unit: self(unit, *args, **kwargs)


def missing(kind: type[Unit]) -> list[str]:
    """Return a checklist for a new kind of unit: the names of the hooks that still need a function for the kind."""
    return [name for name, hook in HOOKS.items() if hook.every_kind and hook.of(kind) is None]
