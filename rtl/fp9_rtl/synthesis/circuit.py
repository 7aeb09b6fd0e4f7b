"""The Verilog that figures are measured on: a circuit as Yosys writes it, flat and without processes.

It is the circuit of the text that people read, proven so (`fp9 prove UNIT --source`), and changes with the circuit
alone: ABC gives other areas, by some per cent, for another text of the same logic.
"""

from __future__ import annotations

import functools
import re
import tempfile
from pathlib import Path

from amaranth.lib import wiring

from fp9.units import Unit
from fp9_rtl.components import build
from fp9_rtl.tools.rtlil import WITHOUT_PROCESSES, to_rtlil
from fp9_rtl.tools.yosys import run_yosys

# What follows removes what nothing reads.
_SCRIPT = f"""\
{WITHOUT_PROCESSES}opt_clean
splitnets -driver -format ___
setattr -unset init w:*
opt_clean -purge
write_verilog -noattr unit.v
"""


@functools.lru_cache(maxsize=64)
def unit_circuit(unit: Unit) -> str:
    """A unit's circuit as one module of its name. Raises ValueError for a spec that no hardware is offered for."""
    return circuit(build(unit), unit.name)


def circuit(component: wiring.Component, name: str) -> str:
    """A component's circuit as one module."""
    with tempfile.TemporaryDirectory(prefix="fp9-") as temporary:
        folder = Path(temporary)
        (folder / "unit.il").write_text(to_rtlil(component, name))
        run_yosys(_SCRIPT, folder)
        text = (folder / "unit.v").read_text()
    # Without the first comment, which names the version of Yosys.
    return re.sub(r"\A/\*.*?\*/\s*", "", text, count=1, flags=re.DOTALL)
