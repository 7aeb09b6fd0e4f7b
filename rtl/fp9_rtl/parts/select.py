"""Selection by a port among a unit's formats, roundings and policies, and by the OR of gated values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from amaranth.hdl import Module, Mux, Value

_Choice = TypeVar("_Choice")


def switch(m: Module, select: Value, choices: Sequence[_Choice]) -> Iterator[_Choice]:
    """Yield each choice inside its case of a switch on `select`; a value beyond the last means the last choice."""
    with m.Switch(select):
        for index, choice in enumerate(choices):
            with m.Default() if index == len(choices) - 1 else m.Case(index):
                yield choice


def at_most(select: Value, last: int) -> Value:
    """Return a select port's value, or `last` if the value is beyond it."""
    return select if last >= (1 << len(select)) - 1 else Mux(select > last, last, select)


def any_of(values: Iterable[Value]) -> Value:
    """Return the bitwise OR of values; for single bits, whether any is 1."""
    return functools.reduce(operator.or_, values)
