"""Hooks: tables that hold one function for each kind of unit.

A package defines a `Hook` for each task that depends on the kind of unit, such as computing results or building RTL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from fp9.units.base import Unit

P = ParamSpec("P")
R = TypeVar("R")

HOOKS: dict[str, Hook[..., Any]] = {}


class Hook(Generic[P, R]):
    """Table of the functions that perform one task for the different kinds of units.

    A call uses the function for the unit's class or its nearest base class, or else the function `otherwise`. Without
    `otherwise`, the call raises ValueError. If `every_kind` is true, every kind of unit needs a function, and `missing`
    reports the hook for kinds without a function.
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
        self.rows[kind] = function

    def of(self, kind: type[Unit]) -> Callable[Concatenate[Any, P], R] | None:
        return next((self.rows[each] for each in kind.__mro__ if each in self.rows), self._otherwise)

    def __call__(self, unit: Unit, *args: P.args, **kwargs: P.kwargs) -> R:
        function = self.of(type(unit))
        if function is None:
            kinds = ", ".join(kind.kind for kind in self.rows)
            raise ValueError(f"{unit.name}: there is no {self.name} for units of kind {unit.kind}; give one of {kinds}")
        return function(unit, *args, **kwargs)

    def given(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[Unit], R]:
        return lambda unit: self(unit, *args, **kwargs)


def missing(kind: type[Unit]) -> list[str]:
    """Return the names of all hooks that have no function for a new kind of unit yet."""
    return [name for name, hook in HOOKS.items() if hook.every_kind and hook.of(kind) is None]
