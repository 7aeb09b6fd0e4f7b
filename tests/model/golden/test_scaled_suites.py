"""What corner suites of scaled sums meet, whatever the circuit: the numbers are those of the ports, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from fp9.casts.arrays import decode
from fp9.engines import engine
from fp9.formats import format
from fp9.golden import evaluate
from fp9.suites.sums.scaled import scaled_corner
from fp9.units import Dot


@pytest.mark.parametrize(("operand", "scale"), [("e5m2", "e8m0"), ("e4m3", "e8m0"), ("e2m1", "ue4m3")])
def test_cancellation_against_the_addend_leaves_every_length_that_two_products_reach(operand: str, scale: str) -> None:
    """The smaller of two powers of two is what is left of the larger: from once to its smallest part."""
    fmt = format(operand)
    unit = Dot("dot", (fmt,), (fmt,), engine("mx(G=4)"), scale=format(scale))
    inputs = scaled_corner(unit, np.random.default_rng(0))
    result, c = (decode(codes, "fp32") for codes in (evaluate(unit, inputs)["result"], inputs["c"]))
    usable = np.isfinite(result) & np.isfinite(c) & (result != 0) & (np.abs(result) < np.abs(c))
    lengths = {int(length) for length in np.log2(np.abs(c[usable])) // 1 - np.log2(np.abs(result[usable])) // 1}
    powers = [x for x in fmt.table if np.isfinite(x) and x > 0 and np.frexp(x)[0] == 0.5]
    assert lengths >= {*range(1, 2 * int(np.log2(max(powers) / min(powers))) + 1)}
