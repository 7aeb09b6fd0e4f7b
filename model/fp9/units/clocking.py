"""Options for the registers of pipelined units: handshake, reset and clock enable."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum

# Dataclass field metadata: a unit's description omits the field if it has its default value.
OMIT_IF_DEFAULT = {"omit": "if default"}


HANDSHAKE = ("in_valid", "in_ready", "out_valid", "out_ready")
"""Names of the handshake ports of a pipelined unit."""


class Handshake(Enum):
    """Handshake protocol of a unit's inputs and outputs."""

    READY = "ready"
    """`valid` and `ready` at inputs and outputs. The unit stalls until the consumer accepts its result"""
    VALID = "valid"
    """`valid` without `ready`. A result appears for one clock, a fixed number of clocks after its operation"""


class Reset(Enum):
    """Polarity and timing of the reset input."""

    SYNC = "sync"
    """active high, synchronous"""
    SYNC_LOW = "sync_low"
    """active low, synchronous"""
    ASYNC = "async"
    """active high, asynchronous, released with recovery time before a clock edge"""
    ASYNC_LOW = "async_low"
    """active low, asynchronous, released with recovery time before a clock edge"""

    @property
    def is_async(self) -> bool:
        return self in (Reset.ASYNC, Reset.ASYNC_LOW)

    @property
    def active(self) -> int:
        return 0 if self in (Reset.SYNC_LOW, Reset.ASYNC_LOW) else 1

    @property
    def port(self) -> str:
        return "rst" if self.active else "rst_n"

    @property
    def words(self) -> str:
        return f"{'asynchronous' if self.is_async else 'synchronous'} reset, {self.active} resets"


@dataclass(frozen=True, kw_only=True)
class Clocking:
    """Register options that every unit has. No register option changes a result."""

    handshake: Handshake = field(default=Handshake.READY, metadata=OMIT_IF_DEFAULT)
    reset: Reset = field(default=Reset.SYNC, metadata=OMIT_IF_DEFAULT)
    reset_data: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    """Whether a reset clears every register. If false, a reset clears only the stages' valid bits and the state."""
    enable: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    """Whether the unit has an input `enable`. While `enable` is 0, only a reset or a flush changes registers."""
    flush: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    """Whether the unit has an input `flush`. A clock edge with `flush` = 1 clears the same registers as a reset."""


def non_defaults(clocking: Clocking) -> dict[str, object]:
    """Return the register options that differ from their default values, by name."""
    said = {f.name: getattr(clocking, f.name) for f in fields(Clocking)}
    return {f.name: said[f.name] for f in fields(Clocking) if said[f.name] != f.default}
