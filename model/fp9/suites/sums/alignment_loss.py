"""Corner operations of windows: one bit of one product, of the addend, or of the sum of products that meets the addend,
alone below the last place that is kept.

What a window cuts off shows in no result, only in `inexact`, and any other bit that is lost would say the same. So all
else is exact: one large term, which sets where the window ends, and zeros, whose other factors are as large as any. In
some operations the bit is among the last ones kept, and nothing is lost; in some the large term is taken away again.

    large term   1 0 0 0 0 0 0 0 |
    product                  1 0 | 1        the bit that alone decides

Where a sum of products is made first, its bits come out of carries: two products, neither a power of two, give it.

    addend       1 x x x x x x x |
    product                    1 | 0 1 1
    product                      | 1 0 1 0 1
    their sum                  1 | 0 0 0 0 1
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import encode
from fp9.engines import Addend
from fp9.formats import Format
from fp9.suites.columns import Inputs, addend, fixed
from fp9.suites.sums import several_products
from fp9.suites.sums.product_and_addend import by_size, product
from fp9.suites.sums.scale_columns import scales_of_one
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

_COUNT = 2000
"""Operations of each pair of formats; for a window, where halves of the products have their own."""

_DEEPEST, _ABOVE = 8, 4
"""Most places below the window's last one that the bit stands, and above it."""


def alignment_loss_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    """Operations of every pair of formats, where a window of several products has no more places than the result: there
    what it cuts off is all that a result lacks. A wider one is rounded behind it, which other families look at; but
    where halves of the products have windows of their own, no result shows what one of these has cut off.
    """
    if _is_narrow(unit) or (unit.engine.interleaved is not None and unit.products > 2):
        yield from (_lost(unit, a, b, rng) for a, b in operand_pairs(unit))


def alignment_loss_of_addend_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    """Such operations of the addend, where it may have more places than the result."""
    if _is_narrow(unit) and unit.engine.addend_format != unit.engine.output:
        yield from (_lost_of_addend(unit, a, b, rng) for a, b in operand_pairs(unit))


def alignment_loss_of_sum_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    """Such operations of the sum of products, where a window of these alone is before the addend."""
    engine = unit.engine
    if engine.window is not None and engine.addend is not Addend.INSIDE and unit.products > 1 and engine.chunk is None:
        yield from (_lost_of_sum(unit, a, b, engine.window, rng) for a, b in operand_pairs(unit))


def _is_narrow(unit: Dot) -> bool:
    engine = unit.engine
    narrow = engine.window is not None and engine.window <= fixed(engine.output).fraction_bits
    return narrow and unit.products > 1 and engine.chunk is None


def _lost(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    """Each lane in turn has a product whose lowest bit stands below the window, or in its last places, half of them
    powers of two; the large term is the addend or, where there is one so large, a product, half of these beside the
    opposite addend. Where halves of the products have windows of their own, which no addend is in, that is always so,
    the two in one half, and half of them any distance apart."""
    halves, share = (1, 0.5) if unit.engine.interleaved is None else (2, 1.0)
    formats, count = (a.format, b.format), halves * _COUNT
    x, y, exponents = several_products.by_exponent(*formats)
    lowest = np.round(np.log2(_lowest_bit(product(x, y, *formats)))).astype(np.int64)
    assert unit.engine.window is not None
    first = lowest + unit.engine.window - _ABOVE
    low = np.arange(len(x)) if halves == 1 else np.flatnonzero(first <= max(exponents[-1], first.min()))
    powers = rng.choice(low[(lowest == exponents)[low]], count)
    some = np.where(rng.random(count) < 0.5, powers, rng.choice(low, count))
    top = first[some] + rng.integers(0, _ABOVE + _DEEPEST + 1, count)
    if halves > 1:
        highest = rng.integers(first[some], np.maximum(exponents[-1], first[some]) + 1)
        top = np.where(rng.random(count) < 0.5, highest, top)
    factors = np.array(several_products.zeros(*formats, unit.products, count, rng))
    rows, lane = np.arange(count), np.arange(count) % unit.products
    factors[:, rows, lane] = x[some] | _signs(a.format, count, rng), y[some]
    as_product = (top <= exponents[-1]) & (rng.random(count) < share)
    beside = lane + halves * rng.integers(1, unit.products // halves, count)
    large = rows[as_product], beside[as_product] % unit.products
    one, other = several_products.of_exponent(*formats, top[as_product], rng)
    one = one | _signs(a.format, len(one), rng)
    factors[:, *large] = one, other
    result, zeros = fixed(unit.engine.output), np.zeros_like(top)
    c = addend(result, np.exp2(top), zeros, zeros, rng.integers(0, 2, count))
    opposite = encode(-product(one, other, *formats), result, "rtz")
    c[as_product] = np.where(rng.random(len(one)) < 0.5, opposite, c[as_product] & result.sign_mask)
    return ports(unit, a, b, factors[0], factors[1], c) | scales_of_one(unit, len(c))


def _lost_of_addend(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    """One product, and an addend of two bits from far below it to above it."""
    formats, rows, addends = (a.format, b.format), np.arange(_COUNT), fixed(unit.engine.addend_format)
    assert unit.engine.window is not None
    x, y, exponents = several_products.by_exponent(*formats)
    some = rng.integers(0, len(x), _COUNT)
    factors = np.array(several_products.zeros(*formats, unit.products, _COUNT, rng))
    factors[:, rows, rows % unit.products] = x[some] | _signs(a.format, _COUNT, rng), y[some]
    difference = rng.integers(-unit.engine.window - 1, _ABOVE, _COUNT)
    fraction = 1 << rng.integers(0, addends.fraction_bits, _COUNT)
    c = addend(addends, np.exp2(exponents[some]), difference, fraction, rng.integers(0, 2, _COUNT))
    return ports(unit, a, b, factors[0], factors[1], c) | scales_of_one(unit, len(c))


def _lost_of_sum(unit: Dot, a: Operand, b: Operand, window: int, rng: np.random.Generator) -> Inputs:
    """Two products whose sum has two bits, in drawn lanes, and an addend whose last place stands from just below the
    lower one to a window above it."""
    rows, result = np.arange(_COUNT), fixed(unit.engine.output)
    found = _sums_of_two_bits(a.format, b.format, window)
    some = rng.integers(0, len(found.lowest), _COUNT)
    factors = np.array(several_products.zeros(a.format, b.format, unit.products, _COUNT, rng))
    lane, sign = rng.integers(0, unit.products, _COUNT), _signs(a.format, _COUNT, rng)
    other = (lane + rng.integers(1, unit.products, _COUNT)) % unit.products
    for place, x, y in ((lane, found.x[0], found.y[0]), (other, found.x[1], found.y[1])):
        factors[:, rows, place] = x[some] ^ sign, y[some]
    distance = result.fraction_bits + rng.integers(-2, window + 1, _COUNT)
    fraction = rng.integers(0, 1 << result.fraction_bits, _COUNT)
    c = addend(result, np.exp2(found.lowest[some]), distance, fraction, rng.integers(0, 2, _COUNT))
    return ports(unit, a, b, factors[0], factors[1], c) | scales_of_one(unit, len(c))


class _Pairs(NamedTuple):
    """Codes of the factors of two products, (2, n) each, and the exponents of the lower bits of their sums."""

    x: NDArray[Any]
    y: NDArray[Any]
    lowest: NDArray[np.float64]


@functools.lru_cache(maxsize=16)
def _sums_of_two_bits(a: Format, b: Format, window: int) -> _Pairs:
    """Every size of a positive product with a product of either sign that makes it 2^i + 2^j, where i is its exponent
    or up to two more, and j down to a window lower."""
    x, y, products = by_size(a, b)
    sizes, first = np.unique(products, return_index=True)
    x, y = x[first], y[first]
    upper = np.floor(np.log2(sizes))[:, None, None] + np.arange(3.0)[:, None]
    lower = upper - np.arange(1.0, window + 1)
    rest = np.exp2(upper) + np.exp2(lower) - sizes[:, None, None]
    at = np.minimum(np.searchsorted(sizes, np.abs(rest)), len(sizes) - 1)
    found = np.nonzero(sizes[at] == np.abs(rest))
    one, other, sign = found[0], at[found], 1 << (a.bits - 1)
    negative = np.where(rest[found] < 0, sign, 0)
    return _Pairs(np.stack([x[one], x[other] | negative]), np.stack([y[one], y[other]]), lower[found])


def _signs(fmt: Format, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.choice([0, 1 << (fmt.bits - 1)], count)


def _lowest_bit(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value of the lowest bit that is set."""
    mantissas, exponents = np.frexp(numbers)
    bits = np.ldexp(mantissas, 53).astype(np.int64)
    lowest: NDArray[np.float64] = np.ldexp((bits & -bits).astype(np.float64), exponents - 53)
    return lowest


__all__ = ["alignment_loss_corner", "alignment_loss_of_addend_corner", "alignment_loss_of_sum_corner"]
