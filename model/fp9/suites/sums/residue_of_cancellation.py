"""Corner-case operations in which large products cancel and a small product remains.

The addend cancels the large products, so that the small product alone decides the result. If an operation's addend is
far larger than all products, a small product affects only the rounding of the sum. Scales move the sum to any
exponent.

    products     x x x x x
                               x x x
    addend      -x x x x x
    result                     0 . x | x     normal, subnormal, or below the smallest number
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import encode
from fp9.formats import Format
from fp9.suites.columns import Codes, Inputs, fixed
from fp9.suites.sums.product_and_addend import by_size, product
from fp9.suites.sums.scale_columns import reach_of_scales, scales_of
from fp9.suites.sums.several_products import by_exponent, of_exponent
from fp9.suites.sums.sum_corner import operand_pairs, ports
from fp9.units import Dot

# Number of operations for each pair of formats.
_COUNT = 4000

_ENDS = 4

_NONE, _AROUND, _HIGHEST, _LARGEST = range(4)


def residue_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    # Other scales than powers of two would change the significand of a product.
    scaled = unit.scale is not None and unit.scale.precision == 1
    if scaled and unit.products > 1 and unit.engine.window.width is None:
        for a, b in operand_pairs(unit):
            x, y, large, rest = _products(a.format, b.format, unit.products, rng)
            exponents = _scales(unit, rest, rng)
            columns = ports(unit, a, b, x, y, _addends(unit, large * np.exp2(exponents), rng))
            columns |= scales_of(unit, exponents, rng)
            yield {port.name: columns[port.name] for port in unit.inputs}


def _products(
    a: Format, b: Format, products: int, rng: np.random.Generator
) -> tuple[Codes, Codes, NDArray[np.float64], NDArray[np.float64]]:
    rows, lane = np.arange(_COUNT), rng.integers(0, products, _COUNT)
    x, y = _large(a, b, products, rng)
    x[rows, lane] = 0
    large = product(x, y, a, b).sum(axis=1)
    one, partner = _small(a, b, rng)
    x[rows, lane], y[rows, lane] = one | rng.choice([0, 1 << (a.bits - 1)], _COUNT), partner
    return x, y, large, product(one, partner, a, b)


def _large(a: Format, b: Format, products: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    # No large products, products near a random exponent, products near the highest exponent, or the largest products
    # with equal signs.
    shape, kind = (_COUNT, products), rng.choice(4, (_COUNT, 1), p=(0.1, 0.3, 0.3, 0.3))
    exponents, (x, y, _) = by_exponent(a, b)[2], by_size(a, b)
    highest = np.where(kind == _AROUND, rng.integers(exponents[0], exponents[-1] + 1, (_COUNT, 1)), exponents[-1])
    wanted = np.maximum(highest - rng.integers(0, 3, shape), exponents[0])
    around_x, around_y = (codes.reshape(shape) for codes in of_exponent(a, b, wanted.reshape(-1), rng))
    around_x = np.where(rng.random(shape) < 1 / 4, 0, around_x)
    last = len(x) - 1 - rng.integers(0, _ENDS, shape)
    magnitudes = np.where(kind == _LARGEST, x[last], np.where(kind == _NONE, 0, around_x))
    negative = rng.integers(0, 2, (_COUNT, 1)) ^ ((kind != _LARGEST) & (rng.random(shape) < 1 / 4))
    return magnitudes | negative << (a.bits - 1), np.where(kind == _LARGEST, y[last], around_y)


def _small(a: Format, b: Format, rng: np.random.Generator) -> tuple[Codes, Codes]:
    exponents, (x, y, sizes) = by_exponent(a, b)[2], by_size(a, b)
    of_any = of_exponent(a, b, rng.integers(exponents[0], exponents[-1] + 1, _COUNT), rng)
    power = rng.choice(np.flatnonzero(np.frexp(sizes)[0] == 0.5), _COUNT)
    first, kind = rng.integers(0, _ENDS, _COUNT), rng.integers(0, 3, _COUNT)
    one, partner = (
        np.choose(kind, [codes, axis[power], axis[first]]) for codes, axis in zip(of_any, (x, y), strict=True)
    )
    return one, partner


def _scales(unit: Dot, rest: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    # Half of the scales shift the small product into or below the range of subnormal results.
    result, (lowest, highest) = fixed(unit.engine.output), reach_of_scales(unit)
    normal = result.min_normal_exponent
    place = rng.integers(normal - 2 * result.precision, normal + 2, _COUNT)
    to_subnormal = np.clip(place - np.floor(np.log2(rest)).astype(np.int64), lowest, highest)
    return np.where(rng.random(_COUNT) < 1 / 2, to_subnormal, rng.integers(lowest, highest + 1, _COUNT))


def _addends(unit: Dot, large: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.uint32]:
    # Zeros, random codes, and numbers that cancel the large products exactly or up to one ulp.
    result = fixed(unit.engine.output)
    opposite = encode(-large, result, "rtz").astype(np.int64)
    beside = (opposite & result.sign_mask) + np.minimum((opposite & result.magnitude_mask) + 1, result.max_code)
    zeros, drawn = rng.choice([0, result.sign_mask], _COUNT), rng.integers(0, 1 << result.bits, _COUNT)
    kind = rng.choice(4, _COUNT, p=(0.4, 0.15, 0.15, 0.3))
    return np.choose(np.where(large == 0, 3, kind), [opposite, beside, zeros, drawn]).astype(np.uint32)


__all__ = ["residue_corner"]
