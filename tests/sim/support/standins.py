"""Small hand-written Verilog with the ports of a unit: the simulators' packages are tested without the generator.

The result is a table, so a stand-in has nothing in common with the generated circuit; faults are put in on purpose.
"""

from __future__ import annotations

import numpy as np

from fp9.golden import evaluate
from fp9.units import Port, Unit


def table(unit: Unit) -> str:
    """A function of one code port: Verilog expressions `<output>_of[code]` that hold the golden results."""
    (port,) = unit.inputs
    codes = np.arange(1 << port.width, dtype=np.uint8)
    results = evaluate(unit, {port.name: codes})
    lines = []
    for output in unit.outputs:
        values = "".join(f"{int(v):0{output.width}b}" for v in results[output.name][::-1])
        lines.append(
            f"  wire [{output.width << port.width}-1:0] {output.name}_of = {output.width << port.width}'b{values};"
        )
    return "\n".join(lines)


def _declared(unit: Unit) -> str:
    def declare(direction: str, port: Port) -> str:
        return f"{direction} [{port.width - 1}:0] {port.name}"

    ports = [declare("input", p) for p in unit.inputs] + [declare("output", p) for p in unit.outputs]
    if unit.stages:
        ports += [f"input {p}" for p in ("clk", "rst", "in_valid", "out_ready")]
        ports += [f"output {p}" for p in ("in_ready", "out_valid")]
    return f"module {unit.name}({', '.join(ports)});"


def combinational(unit: Unit, **faults: str) -> str:
    """A decoder with `stages = 0`; `faults` give another expression for an output."""
    (code,) = unit.inputs
    body = [
        f"  assign {p.name} = {faults.get(p.name, f'{p.name}_of[{code.name} * {p.width} +: {p.width}]')};"
        for p in unit.outputs
    ]
    return "\n".join([_LINT, _declared(unit), table(unit), *body, "endmodule", ""])


_LINT = "/* verilator lint_off WIDTHEXPAND */"

HEALTHY = {
    "in_ready": "!full || out_ready",
    "out_valid": "valid[STAGES-1]",
    "moves": "!full || out_ready",
    "reset_valid": "0",
    "next_valid": "{valid, in_valid}",
    "power_up": "",
    "shown": "codes[STAGES*8-1 -: 8]",
}
"""Expressions of the pipeline below; a test replaces one to break it."""


def pipelined(unit: Unit, **faults: str) -> str:
    """A decoder with stages that all move together; `faults` replace expressions of `HEALTHY`."""
    (code,) = unit.inputs
    say = {**HEALTHY, **faults}
    body = f"""
  localparam STAGES = {unit.stages};
  reg [STAGES*8-1:0] codes;
  reg [STAGES-1:0] valid;
  reg [7:0] clocks;
  wire full = valid[STAGES-1];
  wire moves = {say["moves"]};
  wire [STAGES:0] next_valid = {say["next_valid"]};
  wire [STAGES*8+7:0] next_codes = {{codes, {code.name}}};
  wire [7:0] shown = {say["shown"]};
  assign in_ready = {say["in_ready"]};
  assign out_valid = {say["out_valid"]};
  {say["power_up"]}
  always @(posedge clk) begin
    clocks <= rst ? 8'd0 : clocks + 8'd1;
    if (rst) valid <= {say["reset_valid"]};
    else if (moves) valid <= next_valid[STAGES-1:0];
    if (moves) codes <= next_codes[STAGES*8-1:0];
  end
  wire unused = &{{1'b0, clocks, next_valid[STAGES], next_codes[STAGES*8+7 -: 8], unused}};
"""
    outputs = [f"  assign {p.name} = {p.name}_of[shown * {p.width} +: {p.width}];" for p in unit.outputs]
    return "\n".join([_LINT, _declared(unit), table(unit), body, *outputs, "endmodule", ""])
