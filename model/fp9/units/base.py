"""Ports of units, checks of shared fields, and the base class of unit specifications."""

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
from fp9.formats.rounding import FLAG_BITS
from fp9.units.clocking import HANDSHAKE, OMIT_IF_DEFAULT, Clocking, Handshake, non_defaults
from fp9.units.reserved import language_of

Columns = Mapping[str, NDArray[Any]]
"""Inputs of n operations: an unsigned integer array of shape (n,) for each input port."""
Results = dict[str, NDArray[Any]]
"""Results of n operations: an unsigned integer array of shape (n,) for each output port."""
Masks = dict[str, NDArray[np.bool_]]

_NAME = re.compile(r"[a-z][a-z0-9_]*", re.IGNORECASE)

# Minimum width of a wide float, which is the source of a cast unit or the result of an upcast unit.
WIDE_BITS = 16

GIVE_WIDE = "give fp32, fp16, bf16, dlfloat16, or a described format of 16 bits or more"

MAX_STAGES = 6
"""Maximum number of pipeline stages in a unit."""


@dataclass(frozen=True, slots=True)
class Port:
    """A hardware port of `width` bits.

    - `formats`: number formats of the port's codes. `select`: name of another input port, whose value selects one of
      `formats` for this port.
    - `choices`: for a select port, the names of its values, in order from value 0. A select value without a name
      selects the last choice.
    - `signed`: whether the port holds a two's complement number.
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
    return (choices - 1).bit_length()


class Unit(Clocking, abc.ABC):
    """Complete specification of a hardware unit, as a frozen dataclass whose constructor checks the fields."""

    kind: ClassVar[str]
    name: str
    stages: int

    @property
    @abc.abstractmethod
    def inputs(self) -> tuple[Port, ...]:
        """Return the data inputs in port order, without the clock, reset and handshake inputs."""

    @property
    @abc.abstractmethod
    def outputs(self) -> tuple[Port, ...]:
        """Return the data outputs in port order, without the handshake outputs."""

    @property
    def control_inputs(self) -> tuple[Port, ...]:
        waits = self.handshake is Handshake.READY
        offered = {
            "clk": ("clock, rising edge", True),
            self.reset.port: (self.reset.words, True),
            "enable": ("clock enable: while it is low, registers hold their values", self.enable),
            "flush": ("a clock edge with flush high discards all operations in the unit and at its inputs", self.flush),
            "in_valid": ("the inputs hold an operation", True),
            "out_ready": ("a transfer occurs at a clock edge when out_valid and out_ready are high", waits),
        }
        return self._controls(offered)

    @property
    def control_outputs(self) -> tuple[Port, ...]:
        waits = self.handshake is Handshake.READY
        offered = {
            "in_ready": ("a transfer occurs at a clock edge when in_valid and in_ready are high", waits),
            "out_valid": ("the outputs hold a result", True),
        }
        return self._controls(offered)

    @property
    def control_ports(self) -> tuple[Port, ...]:
        """Return the control ports in the order clock, reset, enable, flush, input handshake, output handshake."""
        ports = {port.name: port for port in (*self.control_inputs, *self.control_outputs)}
        return (*(ports.pop(n) for n in [*ports] if n not in HANDSHAKE), *(ports[n] for n in HANDSHAKE if n in ports))

    def _controls(self, offered: Mapping[str, tuple[str, bool]]) -> tuple[Port, ...]:
        return tuple(Port(name, 1, doc) for name, (doc, has) in offered.items() if has and self.stages)

    @property
    def has_state(self) -> bool:
        """Return whether the result of an operation can depend on earlier operations."""
        return False

    @property
    def state_output(self) -> str | None:
        """Return the name of the output that equals the unit's state register, or None for a unit without state."""
        return None

    def restarts(self, inputs: Columns) -> NDArray[np.bool_]:
        """Return a mask (n,) of the operations that do not depend on earlier operations.

        The unit is reset before the first operation.
        """
        return np.ones(len(inputs[self.inputs[0].name]), dtype=np.bool_)

    @property
    def latency(self) -> int:
        """Return the number of clock cycles from an operation to its result, without back-pressure."""
        return self.stages

    @property
    def extra_clocks(self) -> int:
        """Return the largest number of clock cycles that one operation takes beyond `latency`.

        While an operation takes additional clock cycles, the unit accepts no other operation. If no operation takes
        longer than `latency`, return 0.
        """
        return 0

    @property
    def slow_operations(self) -> str:
        """Return a text that describes which operations take longer than `latency`, or an empty string if none does."""
        return ""

    @property
    def group(self) -> int:
        """Return the number of consecutive operations that produce one common result, such as a block."""
        return 1

    def care(self, outputs: Columns) -> Masks:
        """For each output port whose value can be undefined, return a mask (n,) of the operations with a defined value.

        An output port without a mask always has a defined value.
        """
        return {}

    def describe(self) -> list[str]:
        """Return the specification as lines of text, such as `stages: 2`.

        Two equal specifications give the same lines.
        """
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
    if isinstance(value, tuple):
        return ", ".join(value_words(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else _text(value)


def format_tuple(unit: str, what: str, names: tuple[Format | str, ...]) -> tuple[Format, ...]:
    formats = tuple(format(name) for name in names)
    if not formats:
        raise ValueError(f"{unit}: no format given for {what}; name at least one")
    if len(set(formats)) != len(formats):
        raise ValueError(f"{unit}: {what}={value_words(formats)} given; name each format once")
    return formats


def check_offers(unit: str, what: str, offered: tuple[object, ...]) -> None:
    if not offered or len(set(offered)) != len(offered):
        given = value_words(offered) or "none"
        raise ValueError(f"{unit}: {given} given as {what}; name each offered {what} once, and at least one")


def check_rounding(unit: str, engine: Engine) -> None:
    if engine.result.rounding.needs_bits:
        raise ValueError(
            f"{unit}: rounding {engine.result.rounding.value} of engine {engine.name} takes random bits, for which the "
            "unit has no port; give another rounding, such as rne"
        )


def check_name(name: str) -> None:
    """Check that Verilog, SystemVerilog and VHDL accept a module name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"name {name!r} given; give letters, digits and underscores, a letter first")
    language = language_of(name)
    if language:
        raise ValueError(f"name {name!r} given, a reserved word of {language}; give another name, such as {name}_unit")


def check_shared(unit: Unit, lowest: int = 0, beside: str = "") -> None:
    """Check the fields that all units have.

    `beside` names the field value, such as "amax=true", for which the unit needs at least `lowest` pipeline stages.
    """
    check_name(unit.name)
    if not lowest <= unit.stages <= MAX_STAGES:
        reason = f" beside {beside}" if beside and unit.stages < lowest else ""
        raise ValueError(f"{unit.name}: {unit.stages} stages given{reason}; give {lowest} to {MAX_STAGES}")
    for field, value in non_defaults(unit).items() if not unit.stages else ():
        given = f"{field}={value_words(value)}"
        raise ValueError(f"{unit.name}: {given} given for a unit without registers; set stages, or leave it out")
