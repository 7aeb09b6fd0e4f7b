"""Choosing: by a select port among a unit's offered formats, roundings and policies; by ORs of what is 0 elsewhere."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from amaranth.hdl import Module, Mux, Value

_Choice = TypeVar("_Choice")


def switch(m: Module, select: Value, choices: Sequence[_Choice]) -> Iterator[_Choice]:
    """The choices one by one, each inside its case of a switch on `select`; a value beyond the last means the last."""
    with m.Switch(select):
        for index, choice in enumerate(choices):
            with m.Default() if index == len(choices) - 1 else m.Case(index):
                yield choice


def at_most(select: Value, last: int) -> Value:
    """A select port's value, or the last choice where it is beyond that."""
    return select if last >= (1 << len(select)) - 1 else Mux(select > last, last, select)


def any_of(values: Iterable[Value]) -> Value:
    """The OR of values, place by place; of bits, whether one of them is 1."""
    return functools.reduce(operator.or_, values)
