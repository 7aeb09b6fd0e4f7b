"""A miter for proofs: a Verilog module that connects a unit to its specification."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fp9.units import Port, Unit
from fp9_sim.netlists.graphs.function import function_inputs
from fp9_sim.netlists.solvers.solver import TOP


@dataclass(frozen=True)
class Case:
    """A proof case: a specification that must hold for all values of the free input ports."""

    name: str
    # The free input ports are those without a constant value in `fixed`.
    fixed: Mapping[str, int]
    # Verilog code that sets the wire `ok` to 1 if the outputs are correct for the inputs.
    specification: str
    # A copy of the specification with one deliberate error, which the solver must refute.
    control: str | None


def miter(unit: Unit, case: Case, body: str) -> str:
    """Return the Verilog of the module `proof`, which connects a unit to the specification `body`."""
    inputs = function_inputs(unit)
    free = [port for port in inputs if port.name not in case.fixed]
    read = [port for port in unit.outputs if re.search(rf"\b{port.name}\b", body)]
    ports = [_declare("input", port) for port in free] + [_declare("output", port) for port in read]
    fixed = [
        f"  wire {_range(port)}{port.name} = {port.width}'d{case.fixed[port.name]};"
        for port in inputs
        if port.name in case.fixed
    ]
    pins = [f".{port.name}({port.name})" for port in (*inputs, *read)]
    return "\n".join(
        [
            f"module {TOP} (",
            ",\n".join([*ports, "  output ok"]),
            ");",
            *fixed,
            f"  {unit.name} unit ({', '.join(pins)});",
            body,
            "endmodule",
            "",
        ]
    )


def _declare(direction: str, port: Port) -> str:
    return f"  {direction} {_range(port)}{port.name}"


def _range(port: Port) -> str:
    return f"[{port.width - 1}:0] " if port.width > 1 else ""


def selected(port: str, count: int, index: int, width: int) -> tuple[dict[str, int], str]:
    """Return the constant inputs and the Verilog condition under which a select port selects choice number `index`."""
    if not width:
        return {}, "1'b1"
    if index < count - 1:
        return {port: index}, "1'b1"
    # Every value of `count - 1` or more selects the last choice.
    return {}, f"({port} >= {index})"
