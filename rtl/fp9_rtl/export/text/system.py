"""The text of a unit in SystemVerilog: `logic`, `always_ff`, `always_comb`; everything else is as in plain Verilog."""

from __future__ import annotations

import re

_RULES = (
    # A value with its declaration is no assignment of a `logic`, but what it holds at first.
    (r"wire ((?:\[\d+:\d+\] )?)(\w+) =", r"logic \1\2;\n  assign \2 ="),
    (r"(?:wire|reg) ", "logic "),
    (r"(input |output)(?: reg)? ", r"\1 logic "),
    (r"always @\(posedge", "always_ff @(posedge"),
    # Icarus 11 takes no slices in a block that finds out by itself what it reads.
    (r"always @\*\n((?:(?!    endcase$)[^\[\n]*\n)+    endcase$)", r"always_comb\n\1"),
)
"""What a declaration or a block begins with, and what in its place."""


def system_verilog(text: str) -> str:
    """Verilog as the writer makes it, whose lines for a declaration begin with two spaces, as SystemVerilog."""
    for plain, other in _RULES:
        text = re.sub(rf"^  {plain}", f"  {other}", text, flags=re.MULTILINE)
    return text
