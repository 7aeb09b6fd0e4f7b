"""Syntax differences between plain Verilog and SystemVerilog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fp9_rtl.export.text.expressions import INDENT
from fp9_rtl.export.text.signals import Signal


@dataclass(frozen=True)
class Dialect:
    """Keywords of one dialect, Verilog or SystemVerilog."""

    net: str
    variable: str
    input: str
    output: str
    variable_output: str
    clocked: str
    combinational: str

    def value(self, signal: Signal) -> str:
        return _declared(self.variable if signal.is_register else self.net, signal)

    def port(self, signal: Signal) -> str:
        if signal.kind == "input":
            return _declared(self.input, signal)
        return _declared(self.variable_output if signal.is_register else self.output, signal)

    def defined(self, signal: Signal) -> str:
        """Return the text that declares a signal and begins the signal's only assignment, up to the equals sign."""
        declared = self.value(signal)
        # A value in the declaration of a variable is only an initial value, so the assignment is separate.
        return declared if self is PLAIN else f"{declared};\n{INDENT}assign {signal.name}"

    def choosing(self, block: Sequence[str]) -> str:
        # Icarus Verilog 11 rejects slices in an `always_comb` block.
        sliced = any("[" in line or "." in line for line in block)
        return PLAIN.combinational if sliced else self.combinational


PLAIN = Dialect("wire", "reg", "input ", "output", "output reg", "always", "always @*")
"""Verilog-2005."""
SYSTEM = Dialect("logic", "logic", "input  logic", "output logic", "output logic", "always_ff", "always_comb")
"""SystemVerilog-2012."""


def _declared(kind: str, signal: Signal) -> str:
    if signal.type is not None:
        kind = kind.removesuffix("logic").rstrip(" ") + " " * kind.startswith("input")
    return " ".join(word for word in (kind, signal.range, signal.name) if word)
