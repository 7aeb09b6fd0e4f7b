"""Verilog of a unit: its spec and ports in the header, the same bytes for the same spec."""

from __future__ import annotations

import functools
import re
import tempfile
import textwrap
from pathlib import Path

from amaranth.lib import wiring

from fp9.system.files import write_whole
from fp9.units import Port, Unit
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

_LINT_OFF = ("DECLFILENAME", "WIDTHEXPAND", "WIDTHTRUNC")
"""Verilator's style classes that Verilog written by Yosys trips; nothing else is switched off."""


@functools.lru_cache(maxsize=64)
def verilog(unit: Unit) -> str:
    """Verilog text of a unit; the module is named as the unit is. Deterministic to the byte.

    Raises ValueError for a spec that no hardware is offered for.
    """
    return "\n".join([*preamble(unit), "", component_verilog(build(unit), unit.name)])


def preamble(unit: Unit) -> list[str]:
    """What stands above a unit's module: its header, and Verilator told of what Yosys' style trips."""
    return [*header(unit), *(f"/* verilator lint_off {name} */" for name in _LINT_OFF)]


def component_verilog(component: wiring.Component, name: str) -> str:
    """Verilog of a component as one module without processes."""
    with tempfile.TemporaryDirectory(prefix="fp9-") as temporary:
        folder = Path(temporary)
        (folder / "unit.il").write_text(to_rtlil(component, name))
        run_yosys(_SCRIPT, folder)
        return _without_banner((folder / "unit.v").read_text())


def write_verilog(unit: Unit, path: Path | str) -> None:
    """Write a unit's Verilog to `path`, whole or not at all. Raises OSError where it cannot be written."""
    write_whole(path, verilog(unit))


def _without_banner(body: str) -> str:
    """Yosys' output without its first comment, which names the version that wrote it."""
    return re.sub(r"\A/\*.*?\*/\s*", "", body, count=1, flags=re.DOTALL)


_CLOCKED_PORTS = """\
Latency is {stages} clocks without back-pressure, throughput one operation a clock.
  clk: all registers take their values at its rising edge
  rst: synchronous reset, 1 empties all stages
  in_valid, in_ready: an operation is taken in a clock in which both are 1
  out_valid, out_ready: a result is handed over in a clock in which both are 1"""


def header(unit: Unit) -> list[str]:
    """Comment lines: the spec, then every port with its width and meaning."""
    lines = [f"{unit.name}: made by fp9 from this spec", ""]
    lines += [f"  {line}" for line in unit.describe()]
    if unit.stages:
        lines += ["", *_CLOCKED_PORTS.format(stages=unit.stages).splitlines()]
    for title, ports in (("Inputs", unit.inputs), ("Outputs", unit.outputs)):
        lines += ["", title, *(line for port in ports for line in _describe(port))]
    return [f"// {line}".rstrip() for line in lines]


def _describe(port: Port) -> list[str]:
    """A port as a line, and lines for what its values mean."""
    width = f"[{port.width - 1}:0]" if port.width > 1 else ""
    sign = " (two's complement)" if port.signed else ""
    text = [f"  {port.name} {width}".rstrip() + f": {port.doc}{sign}"]
    if port.choices:
        values = ", ".join(f"{value} {name}" for value, name in enumerate(port.choices))
        text.append(f"values: {values}; beyond the last: the last")
    elif port.formats and port.select:
        text.append(f"format by {port.select}: {', '.join(fmt.name for fmt in port.formats)}")
    elif port.formats:
        text.append(f"format: {port.formats[0].name}")
    return [text[0], *(f"    {line}" for more in text[1:] for line in textwrap.wrap(more, 100))]
