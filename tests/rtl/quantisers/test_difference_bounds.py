"""Bounds on the difference between two tries of a block: casts of the model meet them, and come close to them."""

from __future__ import annotations

import numpy as np

from fp9 import decode, encode
from fp9.formats import format
from fp9.formats.blocks import block_format
from fp9.units import Quantiser
from fp9_rtl.quantisers.difference_bounds import difference_bounds


def test_differences_of_tries_come_close_to_their_bounds() -> None:
    block = block_format("nvfp4")
    most = difference_bounds(Quantiser("quantiser", format("bf16"), block, (block.rule("4over6"),), 0))
    rng = np.random.default_rng(11)
    amax = np.exp2(rng.uniform(-9, 12, 400_000))
    x = amax * rng.uniform(0, 1, len(amax))
    first, second = (decode(encode(amax / divisor, "ue4m3"), "ue4m3").astype(np.float64) for divisor in (6, 4))
    differ = (first != second) & (first > 0)
    amax, x, first, second = amax[differ], x[differ], first[differ], second[differ]
    unit = np.exp2(np.maximum(np.floor(np.log2(first)), -6) - 3) / 2  # a place of the first scale, half of an element
    elements, others = (decode(encode(x / s, "e2m1"), "e2m1") * s / unit for s in (first, second))
    differences = np.abs(others - elements)
    for bound, met in (
        (most.elements, differences),
        (most.squares, differences * (others + elements)),
        (most.products, 2 * x / unit * differences),
    ):
        assert 0.9 * bound < met.max() <= bound
