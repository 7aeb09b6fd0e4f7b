"""What every unit spec has: ports, golden results, a description; and the checks that all of them share."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.formats import Format, format
from fp9.rounding import FLAG_BITS

Columns = Mapping[str, NDArray[Any]]
"""One unsigned array of shape (n,) for each input port."""
Results = dict[str, NDArray[Any]]
"""One unsigned array of shape (n,) for each output port."""
Masks = dict[str, NDArray[np.bool_]]

SAID_WHERE_SET = {"said": "where set"}
"""Metadata of an option that a unit's description leaves out where it has its default."""

MAX_STAGES = 6
"""Deepest pipeline that a unit offers."""


@dataclass(frozen=True, slots=True)
class Port:
    """One port: `width` bits; `formats` says how to read a code (the select port `select` picks, if there are several).

    `choices` names the values 0, 1, ... of a select port; a value beyond the last name means the last. `signed` bits
    are two's complement.
    """

    name: str
    width: int
    doc: str
    formats: tuple[Format, ...] = ()
    select: str | None = None
    choices: tuple[str, ...] = ()
    signed: bool = False


FLAGS_PORT = Port("flags", FLAG_BITS, "1 inexact, 2 underflow, 4 overflow, 16 invalid (TestFloat and RISC-V order)")


def select_width(choices: int) -> int:
    """Bits of a port that selects one of so many."""
    return (choices - 1).bit_length()


class Unit(abc.ABC):
    """A hardware unit, said completely. Subclasses are frozen dataclasses, valid once constructed."""

    kind: ClassVar[str]
    name: str
    stages: int

    @property
    @abc.abstractmethod
    def inputs(self) -> tuple[Port, ...]:
        """Data inputs in port order (handshake, clock and reset apart)."""

    @property
    @abc.abstractmethod
    def outputs(self) -> tuple[Port, ...]:
        """Data outputs in port order."""

    @property
    def has_state(self) -> bool:
        """Whether a result depends on the operations before it."""
        return False

    @property
    def latency(self) -> int:
        """Clocks from an operation to its result where nothing stalls."""
        return self.stages

    @property
    def group(self) -> int:
        """Operations that have their results together: every sequence has so many, or a multiple."""
        return 1

    def care(self, outputs: Columns) -> Masks:
        """Where an output carries meaning: shape (n,) masks of those that do not always; others always do."""
        return {}

    def describe(self) -> list[str]:
        """The spec as lines `field: value`, for headers and manifests; the same spec gives the same lines."""
        said = [f for f in fields(self) if f.metadata != SAID_WHERE_SET or getattr(self, f.name) != f.default]  # type: ignore[arg-type]
        return [f"kind: {self.kind}"] + [f"{f.name}: {_text(getattr(self, f.name))}" for f in said]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(v) for v in value)
    if isinstance(value, Format | Engine):
        return value.name
    return str(value.value) if isinstance(value, Enum) else str(value)


def format_tuple(unit: str, what: str, names: tuple[Format | str, ...]) -> tuple[Format, ...]:
    """The formats of a field; ValueError where there is none, or one twice."""
    formats = tuple(format(name) for name in names)
    if not formats:
        raise ValueError(f"{unit}: no format given for {what}; name at least one")
    if len(set(formats)) != len(formats):
        raise ValueError(f"{unit}: {what} names a format twice; name each once")
    return formats


def check_offers(unit: str, what: str, offered: tuple[object, ...]) -> None:
    """ValueError where a field that lists offers is empty or names one twice."""
    if not offered or len(set(offered)) != len(offered):
        raise ValueError(f"{unit}: name each offered {what} once, and at least one")


def check_stages(unit: str, stages: int, lowest: int = 0) -> None:
    """ValueError where a unit cannot have so many register stages."""
    if not lowest <= stages <= MAX_STAGES:
        raise ValueError(f"{unit}: {stages} stages given; give {lowest} to {MAX_STAGES}")
