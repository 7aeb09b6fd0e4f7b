"""The circuit whose errors grading looks at: a unit's Verilog without its handshake.

Of a unit without state that is the function of its data ports. A unit with state keeps its registers, which take one
operation a clock: the inputs are always valid, the results always taken, and no reset comes.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from fp9.units import Dot, Unit
from fp9_rtl.sums.gating import holds
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.graphs.function import function
from fp9_sim.netlists.graphs.tied import tied

# Without their values at reset, registers of the handshake that take a constant are that constant.
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
    """Whether the circuit has registers: an operation leaves something for the next, if only held factors."""
    return unit.has_state or (isinstance(unit, Dot) and holds(unit))


@functools.lru_cache(maxsize=16)
def circuit(unit: Unit, verilog: str) -> str:
    """Verilog named as the unit, with its data ports, and `clk` where it has registers."""
    if not keeps_registers(unit):
        return function(unit, verilog)
    with tempfile.TemporaryDirectory(prefix="fp9-circuit-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        (folder / "tied.v").write_text(tied(unit, clocked=True))
        run_yosys(_FLATTEN.format(name=unit.name), folder)
        return (folder / "circuit.v").read_text()
