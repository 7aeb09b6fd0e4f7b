"""Move all gates at the top level of a circuit into two new modules, ENTER and LEAVE.

ENTER contains the gates that drive inputs of step modules, and LEAVE contains the gates that drive outputs of the
circuit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

ENTER, LEAVE = "enter", "leave"

_Cells = Mapping[str, dict[str, Any]]


def gather(modules: dict[str, dict[str, Any]], name: str) -> None:
    """Move the gates of module `name` into two new modules, ENTER and LEAVE.

    The module ENTER drives inputs of step modules, and the module LEAVE drives outputs of module `name`. The function
    changes the Yosys JSON netlist `modules` in place.
    """
    top = modules[name]
    gates = {key: cell for key, cell in top["cells"].items() if cell["type"] not in modules}
    steps = {key: cell for key, cell in top["cells"].items() if key not in gates}
    driver = {bit: key for key, cell in gates.items() for bit in nets_of(cell, "output")}
    read = _read(name, modules, steps.values(), driver.keys())
    shown = {
        port: content["bits"]
        for port, content in top["ports"].items()
        if content["direction"] == "output" and set(content["bits"]) & driver.keys()
    }
    for group, given in ((ENTER, read), (LEAVE, shown)):
        if given:
            modules[group] = _module(gates, driver, given)
            ports = {port: content["bits"] for port, content in modules[group]["ports"].items()}
            steps[f"u_{group}"] = {"type": group, "parameters": {}, "attributes": {}, "connections": ports}
    # An output may be a constant or another module's net. The outputs of LEAVE are therefore new nets.
    free = 1 + max(bit for cell in top["cells"].values() for bit in nets_of(cell, "input", "output"))
    for port, bits in shown.items():
        top["ports"][port]["bits"] = list(range(free, free + len(bits)))
        free += len(bits)
        steps[f"u_{LEAVE}"]["connections"][port] = top["ports"][port]["bits"]
        top["netnames"].pop(port, None)
    top["cells"] = steps


def _read(
    name: str, modules: Mapping[str, dict[str, Any]], steps: Iterable[dict[str, Any]], driven: Set[Any]
) -> dict[str, list[Any]]:
    pins = [
        (pin, cell["connections"].get(pin, []))
        for cell in steps
        for pin, port in modules[cell["type"]]["ports"].items()
        if port["direction"] == "input"
    ]
    read: dict[str, list[Any]] = {}
    for pin, bits in sorted(pins, key=lambda item: -len(item[1])):
        known = {bit for found in read.values() for bit in found}
        if not driven & (set(bits) - known):
            continue
        if pin in read or known & set(bits) or not driven >= set(bits):
            raise ValueError(f"{name}: not a chain of steps: gates drive a part of the input {pin}")
        read[pin] = bits
    return read


def _module(gates: _Cells, driver: Mapping[Any, str], given: Mapping[str, list[Any]]) -> dict[str, Any]:
    cells: dict[str, dict[str, Any]] = {}
    reads: dict[Any, None] = {}
    waiting = [bit for bits in given.values() for bit in bits]
    while waiting:
        bit = waiting.pop()
        key = driver.get(bit)
        if key is None and not isinstance(bit, str):
            reads[bit] = None
        elif key is not None and key not in cells:
            cells[key] = gates[key]
            waiting += nets_of(gates[key], "input")
    ports = {port: {"direction": "output", "bits": bits} for port, bits in given.items()}
    inputs = {"i": {"direction": "input", "bits": list(reads)}}
    return {"attributes": {}, "ports": {**inputs, **ports}, "cells": cells, "netnames": {}}


def nets_of(cell: Mapping[str, Any], *directions: str) -> list[int]:
    """Return the nets at a cell's pins, for pins with a direction in `directions`. Constant bits are left out."""
    pins: Iterable[tuple[str, list[Any]]] = cell["connections"].items()
    return [b for pin, bits in pins if cell["port_directions"][pin] in directions for b in bits if isinstance(b, int)]
