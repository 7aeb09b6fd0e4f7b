"""The pins of the unit under test, as its spec names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fp9.units import Port


class Violation(Exception):
    """The unit breaks its interface; the message is one sentence, and the run ends with it."""


def pins(dut: Any, ports: Iterable[Port]) -> list[Any]:
    """Handles of the ports, in their order. Raises Violation for one that is missing or of another width."""
    handles = [pin(dut, port.name) for port in ports]
    for handle, port in zip(handles, ports, strict=True):
        if len(handle) != port.width:
            raise Violation(f"port {port.name} has {len(handle)} bits; the spec has {port.width}")
    return handles


def pin(dut: Any, name: str) -> Any:
    """Handle of one port. Raises Violation where there is none."""
    handle = getattr(dut, name, None)
    if handle is None:
        raise Violation(f"there is no port {name}")
    return handle


def bit(handle: Any) -> bool:
    """Value of a one-bit handshake port. Raises Violation where it is not known."""
    value = str(handle.value)
    if value not in ("0", "1"):
        raise Violation(f"{handle._name} is {value.lower()}")
    return value == "1"
