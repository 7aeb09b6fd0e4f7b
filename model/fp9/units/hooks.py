"""Hooks: one function for each kind of unit, in a table of the package that calls it.

A package that has to do something of its own for every kind (golden results, steps of RTL, claims to prove) has a
`Hook` with a row for each kind. `HOOKS` lists the hooks of all packages that are loaded, so that `missing` says what a
new kind still lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from fp9.units.base import Unit

P = ParamSpec("P")
R = TypeVar("R")

HOOKS: dict[str, Hook[..., Any]] = {}
"""Every hook of the loaded packages, by name."""


class Hook(Generic[P, R]):
    """A table of functions by kind of unit; a call takes the row of the unit's kind, or of the kind that it extends.

    `otherwise` is the function of kinds without a row. A hook without it needs a row for `every_kind`, or refuses units
    of kinds without one.
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
        """Add the row of a kind."""
        self.rows[kind] = function

    def of(self, kind: type[Unit]) -> Callable[Concatenate[Any, P], R] | None:
        """The function of a kind; None where the table has none."""
        return next((self.rows[each] for each in kind.__mro__ if each in self.rows), self._otherwise)

    def __call__(self, unit: Unit, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result for a unit. Raises ValueError for a unit of a kind without a row."""
        function = self.of(type(unit))
        if function is None:
            kinds = ", ".join(kind.kind for kind in self.rows)
            raise ValueError(f"{unit.name}: there is no {self.name} for units of kind {unit.kind}; give one of {kinds}")
        return function(unit, *args, **kwargs)

    def given(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[Unit], R]:
        """The hook with its other arguments, as a function of the unit alone."""
        return lambda unit: self(unit, *args, **kwargs)


def missing(kind: type[Unit]) -> list[str]:
    """The names of the hooks that have no row for a kind: the checklist of a new kind."""
    return [name for name, hook in HOOKS.items() if hook.every_kind and hook.of(kind) is None]
