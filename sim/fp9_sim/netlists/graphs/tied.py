"""A wrapper that ties a unit's handshake inputs to constants and never resets the unit."""

from __future__ import annotations

from fp9.units import Unit

TIED = "tied"


TAKEN = "1'b1"


def tied(unit: Unit, clocked: bool) -> str:
    ports = [*(("input", port) for port in unit.inputs), *(("output", port) for port in unit.outputs)]
    declared = ["input clk"] * clocked + [f"{direction} [{port.width - 1}:0] {port.name}" for direction, port in ports]
    pins = ", ".join(f".{port.name}({port.name})" for _, port in ports)
    held = {"clk": "clk" if clocked else "1'b0", unit.reset.port: f"1'b{1 - unit.reset.active}", "flush": "1'b0"}
    control = ", ".join(
        [f".{port.name}({held.get(port.name, TAKEN)})" for port in unit.control_inputs]
        + [f".{port.name}()" for port in unit.control_outputs]
    )
    return f"module {TIED}({', '.join(declared)});\n  {unit.name} unit({pins}, {control});\nendmodule\n"
