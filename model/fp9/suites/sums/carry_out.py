"""Corner-case operations in which adding the addend carries the sum up to the next power of two.

All products have the largest possible significand and equal exponents. The sum of the products is just below a power of
two, and reaches the power of two with the addend.

    four products   1 1 1 0 . 0 0 0 1
    addend                1 . 1 1 1 1 x x x
    sum           1 0 0 0 0 . 0 0 0 0 x x x
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Addend
from fp9.formats import Format
from fp9.suites.columns import Inputs, addend, fixed
from fp9.suites.sums.scale_columns import scales_of_one
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

# Number of operations for each pair of formats.
_COUNT = 300


def carry_out_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    engine = unit.engine
    if engine.window.width is None or engine.window.addend is not Addend.INSIDE or engine.step.products == 1:
        return
    for a, b in operand_pairs(unit):
        products = engine.step.products * math.prod(_largest_significands(fmt)[1] for fmt in (a.format, b.format))
        lacks = 2.0 ** (math.floor(math.log2(products)) + 1) - products
        if 1 <= lacks < 2:
            yield _full(unit, a, b, lacks, rng)


def _full(unit: Dot, a: Operand, b: Operand, lacks: float, rng: np.random.Generator) -> Inputs:
    # `lacks` is the distance from the sum of products to the next power of two. In a third of the operations, the
    # addend's exponent is one higher or one lower than a carry out needs.
    result = fixed(unit.engine.output)
    (x, largest_a), (y, largest_b) = (_largest_significands(fmt) for fmt in (a.format, b.format))
    x, y = rng.choice(x, _COUNT), rng.choice(y, _COUNT)
    size = a.format.table[x].astype(np.float64) * b.format.table[y] / (largest_a * largest_b)
    ones = 1 << result.fraction_bits
    fraction = rng.integers(math.ceil((lacks - 1) * ones), ones, _COUNT)
    place = rng.choice([-1, 0, 0, 0, 0, 1], _COUNT)
    negative = rng.integers(0, 2, _COUNT)
    c = addend(result, size, place, fraction, negative)
    lanes = (_COUNT, unit.products)
    signed = x | negative << (a.format.bits - 1)
    columns = ports(unit, a, b, np.broadcast_to(signed[:, None], lanes), np.broadcast_to(y[:, None], lanes), c)
    return columns | scales_of_one(unit, _COUNT)


def _largest_significands(fmt: Format) -> tuple[NDArray[np.int64], float]:
    codes = fmt.ordered_magnitudes()[1:].astype(np.int64)
    significands = 2 * np.frexp(fmt.table[codes].astype(np.float64))[0]
    return codes[significands == significands.max()], float(significands.max())


__all__ = ["carry_out_corner"]
