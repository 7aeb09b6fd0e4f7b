"""Convert a unit's Verilog into a combinational function of the unit's data ports.

Pipeline registers become wires. An accumulator register becomes the input `accumulator`.
"""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

from fp9.units import Port, Unit
from fp9_rtl.sums.gating import holds
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.graphs.between import gather
from fp9_sim.netlists.graphs.tied import TIED, tied

ACCUMULATOR = "accumulator"


def function_inputs(unit: Unit) -> tuple[Port, ...]:
    kept = _accumulator(unit)
    if kept is None:
        return unit.inputs
    return (*unit.inputs, Port(ACCUMULATOR, kept.width, "the accumulator before the operation", kept.formats))


def _accumulator(unit: Unit) -> Port | None:
    return next((port for port in unit.outputs if port.name == unit.state_output), None)


_FLATTEN = """\
read_verilog unit.v tied.v
hierarchy -check -top tied
proc
{kept}flatten
async2sync
dffunmap
opt_expr
opt_clean
techmap -map wires.v {registers}
opt_expr
opt_clean
opt_muxtree
opt_expr
opt_clean
write_json function.json
"""

_BACK = """\
read_json function.json
opt_expr
opt_clean
rename tied {name}
write_verilog -noattr function.v
"""

_KEPT = "setattr -mod -set keep_hierarchy 1 {modules}\n"

_ALL_BUT_SHOWN = "t:$dff o:{output} %ci2:+$dff[Q] t:$dff %i %d"

_WIRES = """\
(* techmap_celltype = "$dff" *)
module register (input CLK, input [WIDTH-1:0] D, output [WIDTH-1:0] Q);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1;
  assign Q = D;
endmodule
"""


@functools.lru_cache(maxsize=16)
def function(unit: Unit, verilog: str, steps: tuple[str, ...] = ()) -> str:
    """Return a unit's combinational function as a Verilog module that has the unit's name."""
    if not unit.stages:
        return verilog
    if holds(unit):
        raise ValueError(
            f"{unit.name}: gate_zeros holds factors, so results depend on earlier operations; set gate_zeros=false, "
            "or stages=1"
        )
    if unit.extra_clocks:
        raise ValueError(
            f"{unit.name}: division=iterative given, which computes in registers, so the unit is no combinational "
            "function; set division=array"
        )
    with tempfile.TemporaryDirectory(prefix="fp9-function-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        (folder / "tied.v").write_text(tied(unit, clocked=False))
        (folder / "wires.v").write_text(_WIRES)
        kept = _accumulator(unit)
        registers = _ALL_BUT_SHOWN.format(output=kept.name) if kept else ""
        # The module keeps a submodule for each of the named computation steps.
        whole = _KEPT.format(modules=" ".join(f"{unit.name}_*_{step}" for step in steps)) if steps else ""
        run_yosys(_FLATTEN.format(kept=whole, registers=registers), folder)
        design = json.loads((folder / "function.json").read_text())
        _open_registers(unit, design["modules"][TIED])
        if steps:
            gather(design["modules"], TIED)
        (folder / "function.json").write_text(json.dumps(design))
        run_yosys(_BACK.format(name=unit.name), folder)
        return (folder / "function.v").read_text()


def _open_registers(unit: Unit, module: dict[str, Any]) -> None:
    """Replace the accumulator by an input for its current value and an output for its next value."""
    registers = {name: cell for name, cell in module["cells"].items() if cell["type"] == "$dff"}
    kept = _accumulator(unit)
    if len(registers) != (kept is not None):
        raise ValueError(f"{unit.name}: {len(registers)} registers hold state, so its function cannot be extracted")
    following = {
        q: d
        for cell in registers.values()
        for q, d in zip(cell["connections"]["Q"], cell["connections"]["D"], strict=True)
    }
    for name in registers:
        del module["cells"][name]
    ports = module["ports"]
    if kept:
        ports[ACCUMULATOR] = {"direction": "input", "bits": ports[kept.name]["bits"]}
    for port in unit.outputs:
        ports[port.name] = {"direction": "output", "bits": [following.get(b, b) for b in ports[port.name]["bits"]]}
        del module["netnames"][port.name]
