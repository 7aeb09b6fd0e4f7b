"""Components as RTLIL, the text that Yosys reads."""

from __future__ import annotations

import re

from amaranth.back import rtlil
from amaranth.lib import wiring

WITHOUT_PROCESSES = """\
read_rtlil unit.il
proc
flatten -separator _
pmuxtree
opt_expr
wreduce
"""
"""Yosys script from `unit.il` to one flat module of words, without processes.

No block then waits for an event that never comes (an `always @*` over constants), and `pmuxtree` spares Icarus a
function whose name it rejects.
"""

_PORT = re.compile(r"^(\s*wire .*\b(?:input|output) )(\d+)", re.MULTILINE)
_NAME = re.compile(r"\\([A-Za-z_][\w.]*)")


def to_rtlil(component: wiring.Component, name: str) -> str:
    """RTLIL whose names need no escaping in Verilog, and in which a structure is named by its fields alone.

    The field `operand.sign` becomes `operand_sign`; the wire `operand` of all fields side by side a private one.
    """
    text = rtlil.convert(component, name=name, emit_src=False)
    packed = {wire.rpartition(".")[0] for wire in _NAME.findall(text) if not wire.startswith(f"{name}.")}

    def renamed(match: re.Match[str]) -> str:
        return ("$" if match[1] in packed else "\\") + match[1].replace(".", "_")

    # Yosys takes port number 0 for none and puts that port last.
    text = _PORT.sub(lambda match: f"{match[1]}{int(match[2]) + 1}", text)
    return _NAME.sub(renamed, text)
