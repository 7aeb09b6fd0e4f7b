"""Corner-case operations whose products exceed the largest number of the result format.

A narrow result format, such as FP16 for e5m2 factors, cannot represent the largest products. If products exceed the
largest result, their sum is finite only if the products cancel. Few other operations use the upper bits of the
circuit's sum, which hold products above the largest result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fp9.suites.columns import Inputs, fixed
from fp9.suites.sums import several_products
from fp9.suites.sums.product_and_addend import nearly_opposite, product
from fp9.suites.sums.scale_columns import scaled
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

_COUNT = 1000
"""Number of operations for each pair of formats."""


def overflowing_products_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    """Yield operations for every pair of operand formats whose products can exceed the largest result.

    The exponent of the largest product must exceed the largest result's exponent by more than the result's precision.
    Some bits of the internal sum of products then appear in no finite result. For units with one product, nothing is
    yielded, because a second product is needed for cancellation. For units with one pair of operand formats, nothing is
    yielded, because other corner cases test such units.
    """
    result, pairs = fixed(unit.engine.output), [*operand_pairs(unit)]
    beyond = [pair for pair in pairs if _highest(*pair) > result.highest_exponent]
    far = max(_highest(*pair) for pair in pairs) > result.highest_exponent + result.precision
    if far and unit.products > 1 and len(pairs) > 1:
        yield from (_beyond(unit, a, b, rng) for a, b in beyond)


def _highest(a: Operand, b: Operand) -> int:
    return int(several_products.by_exponent(a.format, b.format)[2][-1])


def _beyond(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    """Return operations with random signs. The exponents of the products start at the largest result's exponent.

    Within an operation, the exponents of all products are equal or differ by one. Addends are random codes, zero, or
    nearly cancel the sum of products.
    """
    result, formats, shape = fixed(unit.engine.output), (a.format, b.format), (_COUNT, unit.products)
    exponents = several_products.by_exponent(*formats)[2]
    wanted = rng.integers(result.highest_exponent, exponents[-1] + 1, (_COUNT, 1)) - rng.integers(0, 2, shape)
    x, y = (codes.reshape(shape) for codes in several_products.of_exponent(*formats, wanted.reshape(-1), rng))
    x = x | rng.choice([0, 1 << (a.format.bits - 1)], shape)
    opposite = nearly_opposite(product(x, y, *formats).sum(axis=1), result, rng)
    drawn, zeros = rng.integers(0, 1 << result.bits, _COUNT), rng.choice([0, result.sign_mask], _COUNT)
    c = np.choose(rng.choice(3, _COUNT, p=(0.4, 0.4, 0.2)), [drawn, zeros, opposite])
    return scaled(unit, ports(unit, a, b, x, y, c), rng)


__all__ = ["overflowing_products_corner"]
