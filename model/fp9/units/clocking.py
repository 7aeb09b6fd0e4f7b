"""How the registers of a unit with stages move: its handshake, its reset, its clock enable."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum

OMIT_IF_DEFAULT = {"omit": "if default"}
"""Metadata of an option that a unit's description leaves out where it has its default."""


HANDSHAKE = ("in_valid", "in_ready", "out_valid", "out_ready")
"""Ports of the streams at both ends of a unit with stages, beside its data ports."""


class Handshake(Enum):
    """How operations enter a unit and how its results leave."""

    READY = "ready"
    """valid and ready on both sides: where a result is not taken, the unit waits"""
    VALID = "valid"
    """valid alone: a result comes a fixed time after its operation and stays for one clock, taken or not"""


class Reset(Enum):
    """How a unit is reset."""

    SYNC = "sync"
    """by 1, at the clock's edge"""
    SYNC_LOW = "sync_low"
    """by 0, at the clock's edge"""
    ASYNC = "async"
    """by 1, at once; its end comes in time before a clock's edge"""
    ASYNC_LOW = "async_low"
    """by 0, at once; its end comes in time before a clock's edge"""

    @property
    def is_async(self) -> bool:
        """Whether registers are reset without a clock."""
        return self in (Reset.ASYNC, Reset.ASYNC_LOW)

    @property
    def active(self) -> int:
        """The level that resets."""
        return 0 if self in (Reset.SYNC_LOW, Reset.ASYNC_LOW) else 1

    @property
    def port(self) -> str:
        """Name of the port."""
        return "rst" if self.active else "rst_n"

    @property
    def words(self) -> str:
        """The reset in words."""
        return f"{'asynchronous' if self.is_async else 'synchronous'} reset, {self.active} resets"


@dataclass(frozen=True, kw_only=True)
class Clocking:
    """What a spec says of registers, whatever they hold; none of it changes a result."""

    handshake: Handshake = field(default=Handshake.READY, metadata=OMIT_IF_DEFAULT)
    reset: Reset = field(default=Reset.SYNC, metadata=OMIT_IF_DEFAULT)
    reset_data: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    """Reset clears every register. Otherwise it clears what says that a stage holds an operation, and what one
    operation leaves for the next; the data of the stages have none."""
    enable: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    """The input `enable`: a clock in which it is 0 changes no register, a reset apart."""


def non_defaults(clocking: Clocking) -> dict[str, object]:
    """Return the options that differ from their defaults, by name."""
    said = {f.name: getattr(clocking, f.name) for f in fields(Clocking)}
    return {f.name: said[f.name] for f in fields(Clocking) if said[f.name] != f.default}
