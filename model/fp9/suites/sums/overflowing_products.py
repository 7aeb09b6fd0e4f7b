"""Corner-case operations whose products exceed the largest number of the result format.

A narrow result format, such as FP16 for e5m2 factors, cannot represent the largest products. If products exceed the
largest result, their sum is finite only if large products cancel. The operations use the upper bits of the circuit's
internal sum, which stay unused in most corner cases.
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

# Number of operations for each pair of formats.
_COUNT = 1000


def overflowing_products_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    result, pairs = fixed(unit.engine.output), [*operand_pairs(unit)]
    beyond = [pair for pair in pairs if _highest(*pair) > result.highest_exponent]
    far = max(_highest(*pair) for pair in pairs) > result.highest_exponent + result.precision
    if far and unit.products > 1 and len(pairs) > 1:
        yield from (_beyond(unit, a, b, rng) for a, b in beyond)


def _highest(a: Operand, b: Operand) -> int:
    return int(several_products.by_exponent(a.format, b.format)[2][-1])


def _beyond(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    # Within an operation, the exponents of all products are equal or differ by one.
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
