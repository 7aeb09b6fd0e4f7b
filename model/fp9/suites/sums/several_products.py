"""Corner-case operations for units that add several products, with the corner case in one lane or across lanes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode, encode
from fp9.engines import Engine
from fp9.formats import FixedFormat, Format, Kind
from fp9.suites.columns import (
    FEW_BITS,
    Codes,
    Triple,
    addend,
    classes,
    crossed_magnitudes,
    finite,
    fixed,
    special_codes,
    walking_codes,
)
from fp9.suites.sums.product_and_addend import nearly_opposite, product, to_boundaries

_ALONE, _BESIDE_LOWEST, _BESIDE_OTHERS = range(3)


def placed(
    products: int, a: Format, b: Format, triple: Triple, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], Codes]:
    """Return factors (n, products) and addends, with each tested product in a random lane."""
    x, y, c = triple
    count = len(c)
    rows, lane = np.arange(count), rng.integers(0, products, count)
    beside = rng.choice([_ALONE, _BESIDE_LOWEST, _BESIDE_OTHERS], (count, 1), p=(0.6, 0.15, 0.25))
    both = []
    factor_is_zero = rng.integers(0, 2, (count, products)).astype(np.bool_)
    for fmt, codes, is_zero in ((a, x, factor_is_zero), (b, y, ~factor_is_zero)):
        signs = rng.choice([0, 1 << (fmt.bits - 1)], (count, products))
        zeros = np.where(is_zero, signs * _has_negative_zero(fmt), rng.choice(finite(fmt), (count, products)))
        lowest = fmt.smallest_code | signs
        others = codes[rng.integers(0, count, (count, products))]
        lanes = np.where(beside == _ALONE, zeros, np.where(beside == _BESIDE_LOWEST, lowest, others))
        lanes[rows, lane] = codes
        both.append(lanes)
    return both[0], both[1], np.asarray(c)


def families(
    a: Format, b: Format, engine: Engine, result: FixedFormat, count: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[Any], NDArray[Any], Codes]]:
    """Yield operations in batches: factors `a` and factors `b`, shape (n, products), and addends, shape (n,)."""
    # The batches together hold about 1.4 * `count` operations, and the operations of `_single_bits` and `_special`.
    products = engine.step.products
    for family in (_opposed, _staggered, _equal):
        x, y = family(a, b, products, count // 5, rng)
        yield x, y, _meeting(x, y, a, b, result, rng)
    for apart in (_two, _carried):
        x, y = apart(a, b, engine, count // 5, rng)
        yield x, y, _meeting(x, y, a, b, result, rng)
    x, y = zeros(a, b, products, count // 10, rng)
    walking, few = (rng.choice(codes, len(x)) for codes in (walking_codes(result), classes(result)))
    yield x, y, np.where(rng.random(len(x)) < 0.3, few, walking)
    x, y = (rng.choice(_mostly_finite(fmt, rng), (count // 10, products)) for fmt in (a, b))
    yield x, y, rng.choice(classes(result), len(x))
    c = _single_bits(result)
    yield *zeros(a, b, products, len(c), rng), c
    x, y = _lone(a, b, products, count // 5, rng)
    yield x, y, _powers_around(x, y, a, b, result, rng)
    x, y = _special(a, b, products, rng)
    yield x, y, rng.choice(classes(result), len(x))


Lanes = tuple[NDArray[Any], NDArray[Any]]


def _opposed(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    # Two products have opposite signs and equal or adjacent magnitudes.
    x = rng.choice([0, a.smallest_code], (count, products))
    y = np.full((count, products), b.smallest_code)
    rows = np.arange(count)
    first = rng.integers(0, products, count)
    second = (first + rng.integers(1, products, count)) % products
    order = a.ordered_magnitudes()
    last = len(order) - 1
    place = rng.integers(min(2, last), max(last, 3), count) if last > 1 else np.ones(count, dtype=np.int64)
    sign, other = 1 << (a.bits - 1), rng.choice(finite(b), count)
    x[rows, first] = order[place]
    x[rows, second] = order[np.minimum(place + rng.choice([-1, 0, 0, 1], count), last)] | sign
    y[rows, first], y[rows, second] = other, other
    return x, y


def _staggered(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    rows, first = np.arange(count), rng.integers(0, products, count)
    parts = []
    for fmt in (a, b):
        order = fmt.ordered_magnitudes()[1:]
        codes = order[rng.integers(0, len(order), (count, products))]
        codes[rows, first] = order[len(order) - 1 - rng.integers(0, max(len(order) // 2, 1), count)]
        parts.append(codes | rng.choice([0, 1 << (fmt.bits - 1)], (count, products)))
    return parts[0], parts[1]


def _equal(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    # The signs are equal, random, or equal in all lanes but one.
    magnitudes = [fmt.ordered_magnitudes()[1:] for fmt in (a, b)]
    largest = rng.random(count) < 0.25
    x, y = (np.where(largest, order[-1], rng.choice(order, count)) for order in magnitudes)
    negative = rng.integers(0, 2, (count, products))
    negative[::3] = rng.integers(0, 2, (len(negative[::3]), 1))
    negative[1::3] = np.arange(products) == rng.integers(0, products, (len(negative[1::3]), 1))
    return x[:, None] | negative << (a.bits - 1), np.repeat(y[:, None], products, axis=1)


def zeros(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    """Return factors whose products are all zero, with different sign patterns."""
    of_a = rng.integers(0, 2, (count, products)).astype(np.bool_)
    x, y = (
        np.where(here, 0, rng.choice(finite(fmt), of_a.shape)) & (1 << (fmt.bits - 1)) - 1
        for fmt, here in ((a, of_a), (b, ~of_a))
    )
    # The signs of the zeros are random, equal in all lanes, or equal in all lanes but one.
    kinds = rng.integers(0, 2, (4, count, products))
    kinds[0], kinds[1] = 0, 1
    kinds[2] = (np.arange(products) == rng.integers(0, products, (count, 1))) ^ rng.integers(0, 2, (count, 1))
    negative = kinds[np.arange(count) % 4, np.arange(count)]
    of_b = rng.integers(0, 2, (count, products))
    of_b = np.where(of_a & ~_has_negative_zero(a), negative, np.where(~of_a & ~_has_negative_zero(b), 0, of_b))
    return x | (negative ^ of_b) << (a.bits - 1), y | of_b << (b.bits - 1)


def _has_negative_zero(fmt: Format) -> np.bool_:
    # In a format without negative zero, the code with only the sign bit set is a NaN or the lowest integer.
    return np.bool_(fmt.kind_of(1 << (fmt.bits - 1)) is Kind.ZERO)


def _single_bits(result: FixedFormat) -> Codes:
    # Each code occurs four times, once for each sign pattern that the function `zeros` uses.
    ones = 1 << np.arange(result.bits - 1)
    magnitudes = np.concatenate(
        [[0], ones, ones - 1, (ones - 1) ^ (result.sign_mask - 1), ones ^ (result.sign_mask - 1)]
    )
    return np.repeat(np.concatenate([magnitudes, magnitudes | result.sign_mask]), 4)


@functools.lru_cache(maxsize=16)
def by_exponent(a: Format, b: Format) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Return factors `a`, factors `b` and the exponents of their products, in rising order of the exponents."""
    x, y = (axis.reshape(-1) for axis in np.meshgrid(*(crossed_magnitudes(fmt) for fmt in (a, b))))
    exponents = np.floor(np.log2(product(x, y, a, b))).astype(np.int64)
    order = np.argsort(exponents, kind="stable")
    return x[order], y[order], exponents[order]


def of_exponent(a: Format, b: Format, wanted: NDArray[np.int64], rng: np.random.Generator) -> Lanes:
    """Return random factors whose product has the exponent `wanted`, or the lowest possible exponent."""
    x, y, exponents = by_exponent(a, b)
    first, after = np.searchsorted(exponents, wanted, "left"), np.searchsorted(exponents, wanted, "right")
    place = np.minimum(first + rng.integers(0, np.maximum(after - first, 1)), len(x) - 1)
    x, y, above = x[place], y[place], np.maximum(exponents[place] - wanted, 0)
    for codes, fmt in ((x, a), (y, b)):
        if fmt.bits > FEW_BITS and above.any():  # products of wide operands do not have every exponent
            lowered = np.exp2(np.frexp(decode(codes, fmt))[1] - 1 - above) >= float(fixed(fmt).smallest_normal)
            codes[lowered] = encode(decode(codes, fmt)[lowered] * np.exp2(-above[lowered]), fmt)
            above = np.where(lowered, 0, above)
    return x, y


def _lone(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    x, y = zeros(a, b, products, count, rng)
    rows, lane = np.arange(count), rng.integers(0, products, count)
    _, _, exponents = by_exponent(a, b)
    one, other = of_exponent(a, b, rng.integers(exponents[0], exponents[-1] + 1, count), rng)
    x[rows, lane] = one | rng.choice([0, 1 << (a.bits - 1)], count)
    y[rows, lane] = other
    return x, y


def _powers_around(
    x: NDArray[Any], y: NDArray[Any], a: Format, b: Format, result: FixedFormat, rng: np.random.Generator
) -> Codes:
    count, p = len(x), result.fraction_bits
    near = rng.random(count) < 0.6
    largest = np.where(near, np.abs(product(x, y, a, b)).max(axis=1), 1.0)
    exponents = rng.integers(-result.bias, (1 << result.exponent_bits) - 1 - result.bias, count)
    difference = np.where(near, rng.integers(-p - 8, 2 * p + 8, count), exponents)
    fraction = rng.choice([0, 0, 0, 1, 1 << (p - 1), (1 << p) - 1], count)
    codes = addend(result, largest, difference, fraction, rng.integers(0, 2, count))
    return np.where(rng.random(count) < 0.25, 0, codes)


def _two(a: Format, b: Format, engine: Engine, count: int, rng: np.random.Generator) -> Lanes:
    # In a third of the operations, a third product cancels the larger of the two, so that the smaller product is the
    # result.
    x, y = _lone(a, b, engine.step.products, count, rng)
    rows, sign = np.arange(count), 1 << (a.bits - 1)
    first = np.argmax(_magnitude(x, a) * _magnitude(y, b), axis=1)
    exponent = np.floor(np.log2((_magnitude(x, a) * _magnitude(y, b)).max(axis=1))).astype(np.int64)
    second, third = ((first + step) % engine.step.products for step in _steps(engine.step.products, count, rng))
    one, other = of_exponent(a, b, exponent - rng.integers(0, _reach(engine) + 1, count), rng)
    opposite = x[rows, first] ^ sign
    near = opposite ^ rng.choice([0, 1], count)
    near = np.where(np.isfinite(a.table[near]), near, opposite)
    x[rows, third] = np.where(rows % 3 == 0, near, x[rows, third])
    y[rows, third] = np.where(rows % 3 == 0, y[rows, first], y[rows, third])
    x[rows, second], y[rows, second] = one | rng.choice([0, sign], count), other
    return x, y


def _carried(a: Format, b: Format, engine: Engine, count: int, rng: np.random.Generator) -> Lanes:
    # The sum of the equal products has a long carry.
    x, y = _equal(a, b, engine.step.products, count, rng)
    negative = (x >> (a.bits - 1) & 1)[:, :1]
    x = x & (1 << (a.bits - 1)) - 1 | negative << (a.bits - 1)
    some = rng.random(x.shape) < rng.choice([1.0, 0.9, 0.5], (count, 1))
    exponent = np.floor(np.log2(_magnitude(x[:, 0], a) * _magnitude(y[:, 0], b))).astype(np.int64)
    x = np.where(some, x, 0)
    rows, lane = np.arange(count), rng.integers(0, engine.step.products, count)
    one, other = of_exponent(a, b, exponent - rng.integers(0, _reach(engine) + 1, count), rng)
    x[rows, lane], y[rows, lane] = one | rng.choice([0, 1 << (a.bits - 1)], count), other
    return x, y


def _reach(engine: Engine) -> int:
    # From this exponent difference, the smaller of two products affects only the sticky bit.
    return 3 + (fixed(engine.result.format).fraction_bits if engine.window.width is None else engine.window.width)


def _steps(products: int, count: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    second = rng.integers(1, products, count)
    third = (second + rng.integers(0, max(products - 2, 1), count)) % (products - 1) + 1
    return second, third


def _magnitude(codes: NDArray[Any], fmt: Format) -> NDArray[np.float64]:
    return np.abs(decode(codes, fmt).astype(np.float64))


def _special(a: Format, b: Format, products: int, rng: np.random.Generator) -> Lanes:
    # Every infinity and NaN of one factor meets every class of the other factor, in every lane.
    parts = []
    for mine, fmt, its in ((0, a, b), (1, b, a)):
        codes = special_codes(fmt)
        grid = np.meshgrid(codes, classes(its), np.arange(products), indexing="ij")
        code, beside, lane = (axis.reshape(-1) for axis in grid)
        rows, pair = np.arange(len(code)), list(zeros(a, b, products, len(code), rng))
        for i, other in enumerate((a, b)):
            drawn = rng.choice(finite(other), pair[i].shape)
            pair[i] = np.where((rows % 3 == 0)[:, None], drawn, pair[i])
            pair[i][rows, lane] = code if i == mine else beside
        parts.append(pair)
    x, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return x, y


def _mostly_finite(fmt: Format, rng: np.random.Generator) -> NDArray[Any]:
    every = np.array(classes(fmt))
    return np.concatenate([every, rng.choice(finite(fmt), 2 * len(every))])


def _meeting(
    x: NDArray[Any], y: NDArray[Any], a: Format, b: Format, result: FixedFormat, rng: np.random.Generator
) -> Codes:
    # Near the products, nearly cancelling the sum, or moving the sum to a rounding boundary.
    sums = product(x, y, a, b).sum(axis=1)
    beside = _around(x, y, a, b, result, rng), nearly_opposite(sums, result, rng), to_boundaries(sums, result, rng)
    return np.choose(rng.choice(3, len(sums), p=(0.4, 0.4, 0.2)), beside)


def _around(
    x: NDArray[Any], y: NDArray[Any], a: Format, b: Format, result: FixedFormat, rng: np.random.Generator
) -> Codes:
    largest = np.abs(product(x, y, a, b)).max(axis=1)
    p, count = result.fraction_bits, len(x)
    difference = rng.integers(-2 * p - 4, p + 4, count)
    fraction = rng.integers(0, 1 << p, count) & rng.choice([0, -1, (1 << p // 2) - 1, -1 << p // 2], count)
    codes = addend(result, largest, difference, fraction, rng.integers(0, 2, count))
    return np.where(rng.random(count) < 0.1, 0, codes)
