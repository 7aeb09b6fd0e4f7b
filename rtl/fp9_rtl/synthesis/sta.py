"""Measure the worst path delay of a mapped netlist with OpenSTA.

Inputs arrive at time 0 through one inverter of the library. Outputs drive the library's output load. Wires have no
delay. All paths belong to one clock, which is virtual if the netlist has no flip-flops. The delay includes setup times
and clock-to-output delays.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

from fp9.system.missing import MissingTool
from fp9_rtl.synthesis.libraries import Library

_PERIOD_NS = 1

_SCRIPT = """\
{read_liberty}
set_cmd_units -time ns -capacitance fF
read_verilog {netlist}
link_design {top}
create_clock -name clock -period {period} {source}
foreach port [all_inputs] {{
  if {{[get_property $port full_name] ne "{clock}"}} {{
    set_driving_cell -lib_cell {driver} $port
    set_input_delay 0 -clock clock $port
  }}
}}
set_output_delay 0 -clock clock [all_outputs]
set_load {load_ff} [all_outputs]
report_worst_slack -digits 6
"""


_SIGNED_PORT = re.compile(r"^(\s*(?:input|output|inout|wire|reg)\s+)signed\b\s*", re.MULTILINE)
"""Regular expression for the keyword `signed` in declarations, which OpenSTA rejects."""


def cache_key(verilog: str) -> dict[str, str]:
    signed = re.search(r"\b(?:input|output|inout)\b[^;,()]*\bsigned\b", verilog)
    # Cached results without the key `signed_ports` may lack the timing paths of signed ports.
    return {"signed_ports": "timed"} if signed else {}


@functools.cache
def sta_version() -> str | None:
    if shutil.which("sta") is None:
        return None
    return subprocess.run(["sta", "-version"], capture_output=True, text=True, check=True).stdout.strip()


def worst_path_ns(netlist: Path, top: str, library: Library, clock: str | None) -> float:
    """Return the delay in ns of the netlist's worst path, or 0 if the netlist has no path."""
    if sta_version() is None:
        raise MissingTool("OpenSTA (sta) is not installed; install it with: apt install opensta")
    script, timed = netlist.with_suffix(".tcl"), netlist.with_name(f"{netlist.stem}_timed.v")
    timed.write_text(_SIGNED_PORT.sub(r"\1", netlist.read_text()))
    source = f"[get_ports {{{clock}}}]" if clock else ""
    script.write_text(
        _SCRIPT.format(
            read_liberty="\n".join(f"read_liberty {path}" for path in library.paths),
            netlist=timed.name,
            top=top,
            period=_PERIOD_NS,
            source=source,
            clock=clock or "",
            driver=library.driver,
            load_ff=library.load_ff,
        )
    )
    command = ["sta", "-no_init", "-no_splash", "-exit", script.name]
    done = subprocess.run(command, cwd=netlist.parent, capture_output=True, text=True, errors="replace", check=False)
    output = done.stdout + done.stderr
    slack = [line.split()[-1] for line in output.splitlines() if line.startswith("worst slack")]
    if clock and f"port '{clock}' not found" in output:
        raise ValueError(f"{top} has flip-flops but no port {clock!r}; name its clock port")
    errors = [line.strip() for line in output.splitlines() if "Error" in line]
    if errors or not slack:
        raise ValueError(f"OpenSTA cannot time {top}: {(errors or ['it reported no slack'])[0]}")
    return 0.0 if "INF" in slack[0].upper() else round(_PERIOD_NS - float(slack[0]), 5)
