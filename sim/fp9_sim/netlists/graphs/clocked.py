"""The circuit for mutation testing: a unit's Verilog without the handshake logic."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from fp9.units import Unit
from fp9_rtl.sums.gating import holds
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.graphs.function import function
from fp9_sim.netlists.graphs.tied import tied

# Without reset values, Yosys replaces handshake registers that always load a constant by the constant.
_FLATTEN = """\
read_verilog unit.v tied.v
hierarchy -check -top tied
proc
flatten
async2sync
setattr -unset init w:*
opt -full -nodffe -nosdff
rename tied {name}
write_verilog -noattr circuit.v
"""


def keeps_registers(unit: Unit) -> bool:
    return unit.has_state or holds(unit)


@functools.lru_cache(maxsize=16)
def circuit(unit: Unit, verilog: str) -> str:
    if not keeps_registers(unit):
        return function(unit, verilog)
    with tempfile.TemporaryDirectory(prefix="fp9-circuit-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        (folder / "tied.v").write_text(tied(unit, clocked=True))
        run_yosys(_FLATTEN.format(name=unit.name), folder)
        return (folder / "circuit.v").read_text()
