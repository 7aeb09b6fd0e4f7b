"""Figures of a Verilog text that say how it reads; `python -m tests.rtl.export.figures FILE ...` prints them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\(\*.*?\*\)", re.DOTALL)


@dataclass(frozen=True)
class Figures:
    """Modules, lines of code without comments and empty lines, lines of comment, the longest line of code, nets."""

    modules: int
    code: int
    comment: int
    longest: int
    numbered: int

    def row(self) -> str:
        """The figures as cells of a table."""
        return f"| {self.modules} | {self.code} | {self.comment} | {self.longest} | {self.numbered} |"


def figures(text: str) -> Figures:
    """The figures of a text in Verilog or SystemVerilog; nets without a name begin with `_` and a digit."""
    code = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    lines = [line.rstrip() for line in code.splitlines()]
    filled = [line for line in lines if line]
    comment = sum(not line and bool(said.strip()) for line, said in zip(lines, text.splitlines(), strict=False))
    return Figures(
        modules=len(re.findall(r"^\s*module\b", code, re.MULTILINE)),
        code=len(filled),
        comment=comment,
        longest=max(map(len, filled)),
        numbered=len(set(re.findall(r"\b_\d+_|\\\$\w+", code))),
    )


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        print(f"| {path.name} {figures(path.read_text()).row()}")
