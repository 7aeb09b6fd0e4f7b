"""Generate the flat Verilog of a unit, the input of synthesis."""

# `fp9 prove UNIT --source` proves that the flat Verilog is equivalent to the readable Verilog. The flat text changes
# only if the circuit changes. ABC can reach areas that differ by a few per cent for different texts of the same
# circuit.

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

# The last commands remove logic that drives no output.
_SCRIPT = f"""\
{WITHOUT_PROCESSES}opt_clean
splitnets -driver -format ___
setattr -unset init w:*
opt_clean -purge
write_verilog -noattr unit.v
"""


@functools.lru_cache(maxsize=64)
def unit_circuit(unit: Unit) -> str:
    """Return a unit's circuit as flat Verilog: one module with the unit's name."""
    return circuit(build(unit), unit.name)


def circuit(component: wiring.Component, name: str) -> str:
    with tempfile.TemporaryDirectory(prefix="fp9-") as temporary:
        folder = Path(temporary)
        (folder / "unit.il").write_text(to_rtlil(component, name))
        run_yosys(_SCRIPT, folder)
        text = (folder / "unit.v").read_text()
    # Remove the first comment, which names the version of Yosys.
    return re.sub(r"\A/\*.*?\*/\s*", "", text, count=1, flags=re.DOTALL)
