"""Figures of generated text are counted right."""

from __future__ import annotations

from tests.rtl.export.figures import figures


def test_figures_leave_comments_out_and_count_a_net_once() -> None:
    text = "// a line\nmodule m(input a); // b\n/* two\nlines */\n  assign _0_ = a;\n  assign y = _0_;\n\nendmodule\n"
    assert figures(text).row() == "| 1 | 4 | 3 | 18 | 1 |"
