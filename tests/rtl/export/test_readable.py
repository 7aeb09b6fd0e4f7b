"""The page on the generated Verilog shows what is generated, and counts it right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.rtl.export.figures import figures

from fp9.units import CATALOGUE
from fp9_rtl import verilog

PAGE = (Path(__file__).parents[3] / "docs" / "verilog.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)\.(s?v)` (\|.*\|)$", PAGE, re.MULTILINE)
OWN = [(name, ending, cells) for name, ending, cells in ROWS if name in CATALOGUE]


@pytest.mark.parametrize(("name", "ending", "cells"), OWN)
def test_a_row_counts_the_text_that_is_generated(name: str, ending: str, cells: str) -> None:
    assert figures(verilog(CATALOGUE[name], system=ending == "sv")).row() == cells


def test_five_units_stand_beside_the_texts_of_two_people() -> None:
    assert len({name for name, _, _ in OWN}) == 5 and len(ROWS) - len(OWN) >= 4


@pytest.mark.parametrize("language", ["verilog", "systemverilog"])
def test_what_the_page_shows_stands_in_the_text(language: str) -> None:
    (shown,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert shown in verilog(CATALOGUE["fma_fp32_ocp"], system=language == "systemverilog")


def test_figures_leave_comments_out_and_count_a_net_once() -> None:
    text = "// a line\nmodule m(input a); // b\n/* two\nlines */\n  assign _0_ = a;\n  assign y = _0_;\n\nendmodule\n"
    assert figures(text).row() == "| 1 | 4 | 3 | 18 | 1 |"
