"""Corner-case operations in which a carry decides whether the sum is normal or subnormal.

All products have the same sign. The carry also decides which bits of the sum fit into the result.

    product       1 0 1 . 1 0
    product       1 1 0 . 1 0
    product         1 1 . 0 1
    sum         1 0 0 0 . 0 1
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fp9.suites.columns import Inputs, classes, fixed
from fp9.suites.sums import several_products
from fp9.suites.sums.product_and_addend import just_above, product
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

# Number of operations for each pair of formats.
_COUNT = 3000

# Maximum distance of the sum's leading bit below and above the smallest normal number's leading bit.
_BELOW, _ABOVE = 2, 1

# Distance from the sum's leading bit down to the largest product, and maximum distance to the other products below.
_FIRST, _APART = 2, 2

# Maximum mean number of non-zero products in a step. More products would exceed the power of two.
_NOT_ZERO = 6

# Maximum amount by which the sum exceeds a power of two, relative to that power.
_BEYOND = 1 / 8


def carry_into_normal_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    lowest = fixed(unit.engine.result.format).min_normal_exponent - _BELOW
    if unit.products == 1 or unit.scale is not None:
        return
    for a, b in operand_pairs(unit):
        if several_products.by_exponent(a.format, b.format)[2][0] <= lowest - _FIRST - _APART:
            yield _low(unit, a, b, lowest, rng)


def _low(unit: Dot, a: Operand, b: Operand, lowest: int, rng: np.random.Generator) -> Inputs:
    # Only one step has nonzero products.
    formats, width, rows = (a.format, b.format), unit.engine.step.products, np.arange(_COUNT)
    leading = rng.integers(lowest, lowest + _BELOW + _ABOVE + 1, _COUNT)
    wanted = (leading - _FIRST)[:, None] - rng.integers(0, _APART + 1, (_COUNT, width))
    x, y = (codes.reshape(wanted.shape) for codes in several_products.of_exponent(*formats, wanted.reshape(-1), rng))
    x = np.where(rng.random(x.shape) < max(1 / 4, 1 - _NOT_ZERO / width), 0, x)
    last, above = rng.integers(0, width, _COUNT), np.exp2(leading)
    x[rows, last] = 0
    lacks = above * (1 + _BEYOND * rng.random(_COUNT)) - product(x, y, *formats).sum(axis=1)
    x[rows, last], y[rows, last] = just_above(*formats, lacks)
    every = np.zeros((2, _COUNT, unit.products // width, width), dtype=np.int64)
    every[:, rows, rng.integers(0, every.shape[2], _COUNT)] = x, y
    places = np.argsort(unit.engine.order(unit.products), kind="stable")
    x, y = every.reshape(2, _COUNT, unit.products)[..., places]
    negative, output = rng.integers(0, 2, _COUNT), fixed(unit.engine.output)
    x = x | (negative << (a.format.bits - 1))[:, None]
    zero = np.where(negative, output.sign_mask, 0)
    c = np.where(rng.random(_COUNT) < 3 / 4, zero, rng.choice(classes(output), _COUNT))
    return ports(unit, a, b, x, y, c)


__all__ = ["carry_into_normal_corner"]
