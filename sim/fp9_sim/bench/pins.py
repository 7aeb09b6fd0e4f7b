"""Access the ports of the DUT by the names in its specification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fp9.units import Port


class Violation(Exception):
    """Error: the unit violates its interface. The error ends the simulation run."""


def pins(dut: Any, ports: Iterable[Port], names: Mapping[str, str] | None = None) -> list[Any]:
    """Return the simulator handles of the ports, in order.

    `names` maps ports of the specification to other names in the DUT. Raises Violation for a missing port or a wrong
    width.
    """
    handles = []
    for port in ports:
        name = (names or {}).get(port.name, port.name)
        handles.append(pin(dut, name))
        if len(handles[-1]) != port.width:
            raise Violation(f"port {name} has {len(handles[-1])} bits; the spec has {port.width}")
    return handles


def pin(dut: Any, name: str) -> Any:
    handle = getattr(dut, name, None)
    if handle is None:
        raise Violation(f"there is no port {name}")
    return handle


def bit(handle: Any) -> bool:
    value = str(handle.value)
    if value not in ("0", "1"):
        raise Violation(f"{handle._name} is {value.lower()}")
    return value == "1"
