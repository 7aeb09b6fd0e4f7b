"""Select a format, rounding mode or policy by the value of a port."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from amaranth.hdl import Module, Mux, Value

_Choice = TypeVar("_Choice")


def switch(m: Module, select: Value, choices: Sequence[_Choice]) -> Iterator[_Choice]:
    """Yield each choice inside its own case of an Amaranth `Switch` statement."""
    # The statements that the caller adds in a case apply if `select` is the index of the choice. A value of `select`
    # that is too large selects the last choice.
    with m.Switch(select):
        for index, choice in enumerate(choices):
            with m.Default() if index == len(choices) - 1 else m.Case(index):
                yield choice


def at_most(select: Value, last: int) -> Value:
    return select if last >= (1 << len(select)) - 1 else Mux(select > last, last, select)


def any_of(values: Iterable[Value]) -> Value:
    return functools.reduce(operator.or_, values)
