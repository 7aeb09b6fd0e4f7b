"""FP4 and FP6 operands in every kind of sum, alone and beside 8-bit ones, against the golden model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from numpy.typing import NDArray
from tests.rtl.compared import assert_equal
from tests.support.rosters import thinned

from fp9.engines import engine
from fp9.formats import Format, format
from fp9.suites import inputs_of
from fp9.units import Dot, Fma, Mac

Simulate = Callable[..., dict[str, NDArray[Any]]]

FP4, FP6 = (format("e2m1"),), (format("e3m2"), format("e2m3"))
P3109 = (format("binary4p2se"), format("binary6p3se"), format("binary3p1sf"))
"""Narrow formats with NaN, some with infinities; MX's have neither."""
MIXED = (format("e4m3"), *FP6, *FP4, format("mxint8"))

SUMS = [
    ("fma_fp32", Fma),
    ("fma_fp16", Fma),
    ("dlfloat(G=2)", Dot),  # a pair
    ("fma_fp32(G=3)", Dot),  # fixed point
    ("hopper(G=2)", Dot),
    ("fmma", Dot),
    ("dlfloat", Mac),
    ("chunked(L=2)", Mac),
    ("exact(G=2)", Mac),
]


ROWS = thinned(itertools.product(SUMS, [FP4, FP6, P3109, MIXED]))
"""Of four sets of operands a third: each sum meets one, and each set comes."""


@pytest.mark.every(3)
@pytest.mark.parametrize(("kind_of_sum", "formats"), ROWS)
def test_narrow_operands(kind_of_sum: tuple[str, type[Dot]], formats: tuple[Format, ...], simulate: Simulate) -> None:
    name, kind = kind_of_sum
    chosen = engine(name)
    if chosen.window.width is not None or chosen.chunk.length is not None:
        formats = tuple(fmt for fmt in formats if fmt.name != "mxint8")  # of which no window has hardware
    stages = {"stages": 2} if kind is Mac else {}
    unit = kind("unit", formats, formats[::-1], chosen, **stages)
    inputs = inputs_of(unit, "random", 60, seed=1)
    assert_equal(unit, inputs, simulate(unit, inputs))
