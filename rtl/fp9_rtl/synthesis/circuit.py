"""Verilog for measurements: a circuit as Yosys writes it, flat and without processes.

This circuit is proven equivalent to the readable Verilog (`fp9 prove UNIT --source`). Its text changes only if the
circuit changes. A fixed text matters, because ABC's area of the same logic varies with the text by some per cent.
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
    """Return a unit's circuit as one Verilog module with the unit's name.

    Raises ValueError for a specification without hardware.
    """
    return circuit(build(unit), unit.name)


def circuit(component: wiring.Component, name: str) -> str:
    """Return a component's circuit as one Verilog module."""
    with tempfile.TemporaryDirectory(prefix="fp9-") as temporary:
        folder = Path(temporary)
        (folder / "unit.il").write_text(to_rtlil(component, name))
        run_yosys(_SCRIPT, folder)
        text = (folder / "unit.v").read_text()
    # Without the first comment, which names the version of Yosys.
    return re.sub(r"\A/\*.*?\*/\s*", "", text, count=1, flags=re.DOTALL)
