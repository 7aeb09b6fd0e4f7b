"""Exact sums in fixed point: the accumulator's width, its results against the oracle, and what lies beyond it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fp9
from fp9.engines import engine
from fp9.formats import format
from fp9.formats.rounding import Flags
from fp9.golden import evaluate
from fp9.units import CATALOGUE, Mac, MacOp, product_range


@pytest.mark.parametrize(("name", "bits"), [("e4m3", 49), ("e5m2", 77), ("fp9", 83), ("hif8", 88), ("int8", 28)])
def test_widths_of_exact_accumulators_of_4096_products(name: str, bits: int) -> None:
    """Spec section 3.2."""
    fmt = (format(name),)
    assert product_range(fmt, fmt).signed_bits(4096) == bits


def test_mixed_formats_take_the_lowest_and_the_highest_place_of_all() -> None:
    """e5m2 x e5m2 decides both ends of a unit that also takes e4m3; hif8 alone reaches lower, e5m2 higher."""
    unit = CATALOGUE["mac4_kulisch_ocp"]
    assert isinstance(unit, Mac)
    assert unit.sum_bits == 77
    mixed = product_range((format("hif8"), format("e5m2")), (format("hif8"), format("e5m2")))
    assert (mixed.ulp, mixed.largest) == (-44, Fraction(57344) ** 2)


def test_lanes_of_a_whole_engine_change_no_result() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 128, (2, 50, 40), dtype=np.uint8)
    for name in ("e5m2", "hif8"):
        one, four = (fp9.dot(a, b, name, name, e, flags=True) for e in ("exact", "exact(G=4)"))
        assert np.array_equal(one[0], four[0])
        assert np.array_equal(one[1], four[1])


def test_a_sum_beyond_the_register_wraps_and_comes_back() -> None:
    """49 bits in units of 2^-18 hold less than 2^30: 5350 products of 448 * 448 are the first that do not fit."""
    e4m3 = (format("e4m3"),)
    unit = Mac("mac", e4m3, e4m3, engine("exact"))
    largest = e4m3[0].max_code
    steps = np.concatenate([np.full(5350, largest), np.full(5350, largest | 0x80)]).astype(np.uint32)
    op = np.full(steps.size, MacOp.ACCUMULATE, dtype=np.uint8)
    results = evaluate(unit, {"op": op, "a": steps, "b": np.full(steps.size, largest, np.uint32)})
    values = fp9.decode(results["result"], "fp32").astype(np.float64)
    assert values[4095] == 4096 * 448**2
    assert values[5348] == np.float32(5349 * 448**2)
    assert values[5349] == np.float32(5350 * 448**2 - 2**31)
    assert values[5350] == values[5348]
    assert values[-1] == 0


def test_infinities_and_nan_stay_until_the_next_load() -> None:
    e5m2 = format("e5m2")
    unit = Mac("mac", (e5m2,), (e5m2,), engine("exact"))
    inf, one = 0x7C, int(fp9.encode([1.0], e5m2)[0])
    rows = [(MacOp.LOAD, inf), (MacOp.ACCUMULATE, one), (MacOp.ACCUMULATE, inf | 0x80), (MacOp.HOLD, one)]
    rows += [(MacOp.LOAD, one), (MacOp.CLEAR, inf)]
    op, a = (np.array(column, dtype=np.uint32) for column in zip(*rows, strict=True))
    results = evaluate(unit, {"op": op, "a": a, "b": np.full(len(rows), one, np.uint32)})
    assert [hex(code) for code in results["result"].tolist()] == [
        "0x7f800000",
        "0x7f800000",
        "0x7fc00000",
        "0x7fc00000",
        "0x3f800000",
        "0x0",
    ]
    assert results["flags"].tolist() == [0, 0, int(Flags.INVALID), int(Flags.INVALID), 0, 0]
