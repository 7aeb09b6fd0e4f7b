"""Corner suites of sums that scales multiply: the situations that they are made for are there."""

from __future__ import annotations

import numpy as np
import pytest

import fp9
from fp9.engines import engine
from fp9.formats import format
from fp9.golden import evaluate
from fp9.suites.scaled import scaled_corner
from fp9.units import Dot


@pytest.mark.parametrize(
    ("operand", "products", "scale"), [("e4m3", 4, "e8m0"), ("e5m2", 4, "e8m0"), ("e2m1", 16, "ue4m3")]
)
def test_a_bit_of_any_size_is_taken_from_a_sum_above_every_product(operand: str, products: int, scale: str) -> None:
    """And is all that is left where the addend takes the rest."""
    formats = (format(operand),)
    unit = Dot("scaled", formats, formats, engine(f"mx(G={products})"), scale=format(scale))
    columns = scaled_corner(unit, np.random.default_rng(0))
    a, b = (
        np.stack([fp9.decode(columns[name].astype(np.uint8), operand).astype(float) for name in unit.lane_names(side)])
        for side in "ab"
    )
    factors = (
        fp9.decode(columns[name].astype(np.uint8), scale).astype(float) for s in "ab" for name in unit.scale_names(s)
    )
    terms, scales = a * b, np.prod([*factors], axis=0)
    lane = np.argmin(np.abs(terms), axis=0)
    bit = np.take_along_axis(terms, lane[None], axis=0)[0]
    rest = terms.sum(axis=0) - bit
    result = fp9.decode(evaluate(unit, columns)["result"], "fp32").astype(float)
    alone = (np.frexp(np.abs(rest))[0] == 0.5) & (bit * rest < 0) & (result == bit * scales) & (bit != 0)
    alone &= np.abs(rest) > np.abs(terms).max(axis=0)
    sizes = np.unique(np.abs(bit[alone]))
    powers = np.unique(np.abs(np.multiply.outer(*[format(operand).table[1 : format(operand).max_code + 1]] * 2)))
    powers = powers[np.frexp(powers)[0] == 0.5]
    assert len(sizes) > 0.8 * len(powers)
    assert {*np.sign(rest[alone])} == {-1.0, 1.0}
