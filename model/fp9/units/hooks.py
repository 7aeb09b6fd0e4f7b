"""Hooks: tables with one function per kind of unit. The package that calls a hook owns it.

Some packages handle each kind differently, for example to compute results, build RTL or generate proof obligations.
For each such task, the package has a `Hook` with a row for each kind. `HOOKS` lists the hooks of all loaded
packages. For a new kind, `missing` reports the hooks without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from fp9.units.base import Unit

P = ParamSpec("P")
R = TypeVar("R")

HOOKS: dict[str, Hook[..., Any]] = {}
"""All hooks of the loaded packages, by name."""


class Hook(Generic[P, R]):
    """A table of functions by kind of unit. A call uses the row of the unit's kind, or else the row of its base class.

    `otherwise` is the function for kinds without a row. Without it, a kind without a row raises ValueError. If
    `every_kind` is set, every kind needs a row.
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
        """Add a function for a kind of unit."""
        self.rows[kind] = function

    def of(self, kind: type[Unit]) -> Callable[Concatenate[Any, P], R] | None:
        """Return the function for a kind of unit, or None if there is none."""
        return next((self.rows[each] for each in kind.__mro__ if each in self.rows), self._otherwise)

    def __call__(self, unit: Unit, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function for the unit's kind and return its result. Raises ValueError for a kind without a row."""
        function = self.of(type(unit))
        if function is None:
            kinds = ", ".join(kind.kind for kind in self.rows)
            raise ValueError(f"{unit.name}: there is no {self.name} for units of kind {unit.kind}; give one of {kinds}")
        return function(unit, *args, **kwargs)

    def given(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[Unit], R]:
        """Return a function whose only argument is the unit.

        The function calls the hook with the unit and the given arguments.
        """
        return lambda unit: self(unit, *args, **kwargs)


def missing(kind: type[Unit]) -> list[str]:
    """Return the names of the required hooks that have no row for a kind, as a checklist for a new kind."""
    return [name for name, hook in HOOKS.items() if hook.every_kind and hook.of(kind) is None]
