"""Corner suites of quantisers with a scale of the whole array kill mutants that lose one dropped bit of a limit."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fp9.suites.corner import corner
from fp9.units import CATALOGUE
from fp9_rtl import verilog
from fp9_sim.batch import check, verilated

UNIT = CATALOGUE["quantiser_nvfp4"]
TIES_UP = 2, 4, 6
"""Limits whose tie goes up, to the even element: only there does the result depend on dropped bits."""


@pytest.mark.slow
@pytest.mark.parametrize("limit", TIES_UP)
@pytest.mark.parametrize(("distance", "lost"), [("4", 0), ("4", 1), ("2", 0), ("2", 1)])
def test_the_corner_suite_kills_a_limit_without_one_dropped_bit(limit: int, distance: str, lost: int) -> None:
    """The limits are middles times both scales, shifted right below FP32's normal numbers by 4, by 2 and by 1."""
    text, edit = verilog(UNIT), _edits(limit, lost)[distance]
    assert text.count(edit[0]) == 1
    inputs = corner(UNIT, np.random.default_rng(0))
    assert check(UNIT, inputs, dut=verilated(UNIT, verilog=text.replace(*edit)))[1] > 0


def _edits(limit: int, lost: int) -> dict[str, tuple[str, str]]:
    """For shifts by 4 and by 2 the term of the dropped bits, and the same without one bit at an end."""
    text = verilog(UNIT)
    number = re.search(rf"assign scale_limit{limit} =.*?low(\w*)", text, re.DOTALL)
    assert number
    shifted = f"shifted_by_4{number[1]}"
    whole = re.search(rf"wire \[7:0\] {shifted} = .*?{{4'd0, (\w+)\[7:4\]}}", text)
    assert whole
    first, second = ("3:1", "1:1") if lost == 0 else ("2:0", "0:0")
    return {
        "4": (f"|{whole[1]}[3:0]", f"|{whole[1]}[{first}]"),
        "2": (f"|{shifted}[1:0]", f"|{shifted}[{second}]"),
    }
