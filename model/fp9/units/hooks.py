"""Hooks: tables that hold one function for each kind of unit.

A package defines a `Hook` for each task that depends on the kind of unit, such as computing results or building RTL.
`HOOKS` lists the hooks of all loaded packages. For a new kind of unit, `missing` lists the hooks that have no function
for this kind.
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
    """Table of the functions that perform one task for the different kinds of units.

    When the hook is called with a unit, the hook calls the function for the unit's class or for the nearest base
    class. `otherwise` is the function for all kinds of units that are not in the table. Without `otherwise`, a call
    for a kind of unit that is not in the table raises ValueError. If `every_kind` is true, every kind of unit must be
    in the table.
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
        """Add the function for a kind of unit to the table."""
        self.rows[kind] = function

    def of(self, kind: type[Unit]) -> Callable[Concatenate[Any, P], R] | None:
        """Return the function for a kind of unit, or None if the table has no function for it."""
        return next((self.rows[each] for each in kind.__mro__ if each in self.rows), self._otherwise)

    def __call__(self, unit: Unit, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function for the unit's kind, and return its result.

        Raises ValueError if the table has no function for the unit's kind.
        """
        function = self.of(type(unit))
        if function is None:
            kinds = ", ".join(kind.kind for kind in self.rows)
            raise ValueError(f"{unit.name}: there is no {self.name} for units of kind {unit.kind}; give one of {kinds}")
        return function(unit, *args, **kwargs)

    def given(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[Unit], R]:
        """Return a function that takes a unit, and calls the hook with this unit and the given arguments."""
        return lambda unit: self(unit, *args, **kwargs)


def missing(kind: type[Unit]) -> list[str]:
    """Return a checklist for a new kind of unit: the names of all hooks that have no function for it yet."""
    return [name for name, hook in HOOKS.items() if hook.every_kind and hook.of(kind) is None]
