"""Tables (hooks) that hold one function for each kind of unit.

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
    """A table of functions for one task, such as computing expected results, with one function for each kind of unit.

    A unit without a function for its class or base classes uses the function `otherwise`. If `every_kind` is true, the
    hook must have a function for every kind of unit. For one kind of unit, the function `missing` finds all hooks that
    lack a required function.
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
    """Return the names of all hooks that need a function for the given kind of unit, but have none."""
    return [name for name, hook in HOOKS.items() if hook.every_kind and hook.of(kind) is None]
