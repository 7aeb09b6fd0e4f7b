"""Corner-case operations whose alignment window discards a single bit.

The discarded bit belongs to a product, to the addend, or to the sum of products. Only the flag `inexact` shows that the
alignment window discarded a bit. Each operation discards a single bit, because a second discarded bit would also set
`inexact` and could hide an error. A large term sets the window's position.

    large term   1 0 0 0 0 0 0 0 |
    product                  1 0 | 1        the only discarded bit

In the figure below, the sum of two products has exactly two 1 bits:

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

# Maximum distance of the tested bit below and above the window's last bit.
_DEEPEST, _ABOVE = 8, 4


def alignment_loss_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    interleaved = unit.engine.window.interleaved is not None
    if unit.products // _windows(unit) > 1 and (_is_narrow(unit) or interleaved):
        yield from (_lost(unit, a, b, rng) for a, b in operand_pairs(unit))


def alignment_loss_of_addend_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    """Yield operations in which the window discards one bit of an addend that is wider than the result."""
    if _is_narrow(unit) and unit.engine.addend_format != unit.engine.output:
        yield from (_lost_of_addend(unit, a, b, rng) for a, b in operand_pairs(unit))


def alignment_loss_of_sum_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    engine = unit.engine
    if (
        engine.window.width is not None
        and engine.window.addend is not Addend.INSIDE
        and unit.products > 1
        and engine.chunk.length is None
    ):
        yield from (_lost_of_sum(unit, a, b, engine.window.width, rng) for a, b in operand_pairs(unit))


def _is_narrow(unit: Dot) -> bool:
    engine = unit.engine
    narrow = engine.window.width is not None and engine.window.width <= fixed(engine.output).fraction_bits
    return narrow and unit.products > 1 and engine.chunk.length is None


def _windows(unit: Dot) -> int:
    # Even and odd products have separate windows if the engine interleaves them.
    return 1 if unit.engine.window.interleaved is None else 2


def _lost(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    # The large term is the addend or another product of the same window, which the addend cancels in half of the
    # operations.
    halves = _windows(unit)
    share = 0.5 if halves == 1 else 1.0
    formats, count = (a.format, b.format), halves * _COUNT
    x, y, exponents = several_products.by_exponent(*formats)
    lowest = np.round(np.log2(_lowest_bit(product(x, y, *formats)))).astype(np.int64)
    assert unit.engine.window.width is not None
    first = lowest + unit.engine.window.width - _ABOVE
    low = np.arange(len(x)) if halves == 1 else np.flatnonzero(first <= max(exponents[-1], first.min()))
    single = low[(lowest == exponents)[low]]  # empty if every product that low has several bits
    powers = rng.choice(single if len(single) else low, count)
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
    # The addend has exactly two bits set, at every exponent from far below to just above the product.
    formats, rows, addends = (a.format, b.format), np.arange(_COUNT), fixed(unit.engine.addend_format)
    assert unit.engine.window.width is not None
    x, y, exponents = several_products.by_exponent(*formats)
    some = rng.integers(0, len(x), _COUNT)
    factors = np.array(several_products.zeros(*formats, unit.products, _COUNT, rng))
    factors[:, rows, rows % unit.products] = x[some] | _signs(a.format, _COUNT, rng), y[some]
    difference = rng.integers(-unit.engine.window.width - 1, _ABOVE, _COUNT)
    fraction = 1 << rng.integers(0, addends.fraction_bits, _COUNT)
    c = addend(addends, np.exp2(exponents[some]), difference, fraction, rng.integers(0, 2, _COUNT))
    return ports(unit, a, b, factors[0], factors[1], c) | scales_of_one(unit, len(c))


def _lost_of_sum(unit: Dot, a: Operand, b: Operand, window: int, rng: np.random.Generator) -> Inputs:
    # The addend's last bit takes all positions from just below the lower 1 bit of the sum to a window width above.
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
    x: NDArray[Any]
    y: NDArray[Any]
    lowest: NDArray[np.float64]


@functools.lru_cache(maxsize=16)
def _sums_of_two_bits(a: Format, b: Format, window: int) -> _Pairs:
    # Pairs of products with the sum 2^i + 2^j, i > j. i exceeds the exponent of the first product by at most two, and j
    # is less than i by at most `window`.
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
    mantissas, exponents = np.frexp(numbers)
    bits = np.ldexp(mantissas, 53).astype(np.int64)
    lowest: NDArray[np.float64] = np.ldexp((bits & -bits).astype(np.float64), exponents - 53)
    return lowest


__all__ = ["alignment_loss_corner", "alignment_loss_of_addend_corner", "alignment_loss_of_sum_corner"]
