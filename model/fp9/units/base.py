"""What every unit spec has: ports, golden results, a description; and the checks that all of them share."""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.formats import Format, format
from fp9.rounding import FLAG_BITS
from fp9.units.clocking import HANDSHAKE, OMIT_IF_DEFAULT, Clocking, Handshake, non_defaults
from fp9.units.reserved import language_of

Columns = Mapping[str, NDArray[Any]]
"""One unsigned array of shape (n,) for each input port."""
Results = dict[str, NDArray[Any]]
"""One unsigned array of shape (n,) for each output port."""
Masks = dict[str, NDArray[np.bool_]]

_NAME = re.compile(r"[a-z][a-z0-9_]*", re.IGNORECASE)

WIDE_BITS = 16
"""Fewest bits of a float that is cast to formats of 8 bits, or that these are upcast to."""

GIVE_WIDE = "give fp32, fp16, bf16, dlfloat16, or a described format of 16 bits or more"

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


class Unit(Clocking, abc.ABC):
    """A hardware unit, said completely. Subclasses are frozen dataclasses, valid once constructed."""

    kind: ClassVar[str]
    name: str
    stages: int

    @property
    @abc.abstractmethod
    def inputs(self) -> tuple[Port, ...]:
        """Data inputs in port order (`control_inputs` apart)."""

    @property
    @abc.abstractmethod
    def outputs(self) -> tuple[Port, ...]:
        """Data outputs in port order (`control_outputs` apart)."""

    @property
    def control_inputs(self) -> tuple[Port, ...]:
        """Clock, reset, enable and the handshake's inputs, each of one bit; none without stages."""
        waits = self.handshake is Handshake.READY
        offered = {
            "clk": ("clock, rising edge", True),
            self.reset.port: (self.reset.words, True),
            "enable": ("clock enable: while it is low, registers hold their values", self.enable),
            "in_valid": ("the inputs hold an operation", True),
            "out_ready": ("a transfer occurs at a clock edge when out_valid and out_ready are high", waits),
        }
        return self._controls(offered)

    @property
    def control_outputs(self) -> tuple[Port, ...]:
        """The handshake's outputs, each of one bit; none without stages."""
        waits = self.handshake is Handshake.READY
        offered = {
            "in_ready": ("a transfer occurs at a clock edge when in_valid and in_ready are high", waits),
            "out_valid": ("the outputs hold a result", True),
        }
        return self._controls(offered)

    @property
    def control_ports(self) -> tuple[Port, ...]:
        """All of them: clock, reset and enable, then one stream after the other."""
        ports = {port.name: port for port in (*self.control_inputs, *self.control_outputs)}
        return (*(ports.pop(n) for n in [*ports] if n not in HANDSHAKE), *(ports[n] for n in HANDSHAKE if n in ports))

    def _controls(self, offered: Mapping[str, tuple[str, bool]]) -> tuple[Port, ...]:
        return tuple(Port(name, 1, doc) for name, (doc, has) in offered.items() if has and self.stages)

    @property
    def has_state(self) -> bool:
        """Whether a result depends on the operations before it."""
        return False

    def starts_anew(self, inputs: Columns) -> NDArray[np.bool_]:
        """Which operations do not depend on those before them, shape (n,); `inputs` are of a sequence from reset on.

        All of them in a unit without state; one with state says which.
        """
        return np.ones(len(inputs[self.inputs[0].name]), dtype=np.bool_)

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
        every = sorted(fields(self), key=lambda f: bool(f.kw_only))
        said = [f for f in every if f.metadata != OMIT_IF_DEFAULT or getattr(self, f.name) != f.default]
        return [f"kind: {self.kind}"] + [f"{f.name}: {_text(getattr(self, f.name))}" for f in said]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(v) for v in value)
    if isinstance(value, Format | Engine):
        return value.name
    return str(value.value) if isinstance(value, Enum) else str(value)


def value_words(value: object) -> str:
    """A field's value in the words of a specification, for errors; of several values, all of them."""
    if isinstance(value, tuple):
        return ", ".join(value_words(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else _text(value)


def format_tuple(unit: str, what: str, names: tuple[Format | str, ...]) -> tuple[Format, ...]:
    """The formats of a field; ValueError where there is none, or one twice."""
    formats = tuple(format(name) for name in names)
    if not formats:
        raise ValueError(f"{unit}: no format given for {what}; name at least one")
    if len(set(formats)) != len(formats):
        raise ValueError(f"{unit}: {what}={value_words(formats)} given; name each format once")
    return formats


def check_offers(unit: str, what: str, offered: tuple[object, ...]) -> None:
    """ValueError where a field that lists offers is empty or names one twice."""
    if not offered or len(set(offered)) != len(offered):
        given = value_words(offered) or "none"
        raise ValueError(f"{unit}: {given} given as {what}; name each offered {what} once, and at least one")


def check_rounding(unit: str, engine: Engine) -> None:
    """ValueError for an engine whose rounding takes random bits: units that multiply have no port for them."""
    if engine.rounding.needs_bits:
        raise ValueError(
            f"{unit}: rounding {engine.rounding.value} of engine {engine.name} takes random bits, for which the unit "
            "has no port; give another rounding, such as rne"
        )


def check_name(name: str) -> None:
    """ValueError for what is no name of a module in Verilog, SystemVerilog and VHDL."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"name {name!r} given; give letters, digits and underscores, a letter first")
    language = language_of(name)
    if language:
        raise ValueError(f"name {name!r} given, a reserved word of {language}; give another name, such as {name}_unit")


def check_shared(unit: Unit, lowest: int = 0) -> None:
    """ValueError for a name that hardware languages refuse, for a count of register stages that the unit cannot have,
    and for a choice about registers where there are none."""
    check_name(unit.name)
    if not lowest <= unit.stages <= MAX_STAGES:
        raise ValueError(f"{unit.name}: {unit.stages} stages given; give {lowest} to {MAX_STAGES}")
    for field, value in non_defaults(unit).items() if not unit.stages else ():
        given = f"{field}={value_words(value)}"
        raise ValueError(f"{unit.name}: {given} given for a unit without registers; set stages, or leave it out")
