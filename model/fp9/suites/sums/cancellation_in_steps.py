"""Corner-case operations in which two products cancel, in the same accumulation step or in different steps.

A partial sum that contains only one of two cancelling products is large, and loses the low bits of smaller products.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fp9.suites.columns import Inputs
from fp9.suites.sums import several_products
from fp9.suites.sums.scale_columns import scaled
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

# Number of operations for each pair of formats.
_COUNT = 3000

# Maximum exponent difference between the smallest and the largest product that remains after cancellation.
_APART = 8


def cancellation_in_steps_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    if unit.products > unit.engine.step.products:
        yield from (_left(unit, a, b, rng) for a, b in operand_pairs(unit))


def _left(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    formats, shape, rows = (a.format, b.format), (_COUNT, unit.products), np.arange(_COUNT)
    sign, exponents = 1 << (a.format.bits - 1), several_products.by_exponent(*formats)[2]
    below = rng.integers(0, _APART + 1, shape)
    wanted = np.maximum(rng.integers(exponents[0], exponents[-1] + 1, _COUNT)[:, None] - below, exponents[0])
    x, y = (codes.reshape(shape) for codes in several_products.of_exponent(*formats, wanted.reshape(-1), rng))
    x = x | rng.choice([0, sign], shape)
    large = several_products.of_exponent(*formats, rng.integers(wanted.max(axis=1), exponents[-1] + 1), rng)
    first = rng.integers(0, unit.products, _COUNT)
    second = (first + rng.integers(1, unit.products, _COUNT)) % unit.products
    negative = rng.choice([0, sign], _COUNT)
    for lane, flip in ((first, 0), (second, sign)):
        x[rows, lane], y[rows, lane] = large[0] | negative ^ flip, large[1]
    return scaled(unit, ports(unit, a, b, x, y, rng.integers(0, 1 << unit.engine.output.bits, _COUNT)), rng)


__all__ = ["cancellation_in_steps_corner"]
