"""The page on the generated Verilog shows what is generated, and counts it right."""

from __future__ import annotations

import re
from pathlib import Path

from tests.rtl.export.figures import figures

from fp9.units import CATALOGUE

PAGE = (Path(__file__).parents[3] / "docs" / "verilog.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)\.(s?v)` (\|.*\|)$", PAGE, re.MULTILINE)
OWN = [(name, ending, cells) for name, ending, cells in ROWS if name in CATALOGUE]


def test_figures_leave_comments_out_and_count_a_net_once() -> None:
    text = "// a line\nmodule m(input a); // b\n/* two\nlines */\n  assign _0_ = a;\n  assign y = _0_;\n\nendmodule\n"
    assert figures(text).row() == "| 1 | 4 | 3 | 18 | 1 |"
