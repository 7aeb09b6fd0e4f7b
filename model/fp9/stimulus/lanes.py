"""Corner operations of sums of several products: each lane alone, and lanes that meet.

Products that cancel each other or all but one bit, products of every distance from the largest, equal ones in every
pattern of signs, zeros of every sign, and infinities and NaN beside each other; with addends around the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casting import decode
from fp9.engine import Engine
from fp9.formats import FixedFormat, Format
from fp9.stimulus.columns import Codes, Triple, addend, classes, finite, fixed, walking_codes

_ALONE, _BESIDE_LOWEST, _BESIDE_OTHERS = range(3)


def placed(
    products: int, a: Format, b: Format, triple: Triple, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], Codes]:
    """Operations of one product spread over lanes: a and b of shape (n, products), each operation in a drawn lane.

    The others have zeros of either sign, the smallest numbers, or operands of other operations.
    """
    x, y, c = triple
    count = len(c)
    rows, lane = np.arange(count), rng.integers(0, products, count)
    beside = rng.choice([_ALONE, _BESIDE_LOWEST, _BESIDE_OTHERS], (count, 1), p=(0.6, 0.15, 0.25))
    both = []
    factor_is_zero = rng.integers(0, 2, (count, products)).astype(np.bool_)
    for fmt, codes, is_zero in ((a, x, factor_is_zero), (b, y, ~factor_is_zero)):
        signs = rng.choice([0, 1 << (fmt.bits - 1)], (count, products))
        zeros = np.where(is_zero, signs, rng.choice(finite(fmt), (count, products)))
        lowest = fmt.smallest_code | signs
        others = codes[rng.integers(0, count, (count, products))]
        lanes = np.where(beside == _ALONE, zeros, np.where(beside == _BESIDE_LOWEST, lowest, others))
        lanes[rows, lane] = codes
        both.append(lanes)
    return both[0], both[1], np.asarray(c)


def families(
    a: Format, b: Format, engine: Engine, count: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[Any], NDArray[Any], Codes]]:
    """Every family of lanes that meet, about `count` operations together: a and b of shape (n, products), and c."""
    result, products = fixed(engine.output), engine.products
    for family in (_opposed, _staggered, _equal):
        x, y = family(a, b, products, count // 4, rng)
        yield x, y, _around(x, y, a, b, result, rng)
    x, y = _zeros(a, b, products, count // 8, rng)
    walking, few = (rng.choice(codes, len(x)) for codes in (walking_codes(result), classes(result)))
    yield x, y, np.where(rng.random(len(x)) < 0.3, few, walking)
    x, y = (rng.choice(_mostly_finite(fmt, rng), (count // 8, products)) for fmt in (a, b))
    yield x, y, rng.choice(classes(result), len(x))


Lanes = tuple[NDArray[Any], NDArray[Any]]


def _opposed(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    """Two lanes with opposite products, or products one code apart; the other lanes zero or as small as can be."""
    x = rng.choice([0, a.smallest_code], (count, products))
    y = np.full((count, products), b.smallest_code)
    rows = np.arange(count)
    first = rng.integers(0, products, count)
    second = (first + rng.integers(1, products, count)) % products
    order = a.ordered_magnitudes()
    place = rng.integers(1, len(order) - 1, count)
    sign, other = 1 << (a.bits - 1), rng.choice(finite(b), count)
    x[rows, first] = order[place]
    x[rows, second] = order[place + rng.choice([-1, 0, 0, 1], count)] | sign
    y[rows, first], y[rows, second] = other, other
    return x, y


def _staggered(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    """A large product in one lane, in the others ones of all smaller sizes, so that every distance occurs."""
    rows, first = np.arange(count), rng.integers(0, products, count)
    parts = []
    for fmt in (a, b):
        order = fmt.ordered_magnitudes()
        codes = order[rng.integers(0, len(order), (count, products))]
        codes[rows, first] = order[len(order) - 1 - rng.integers(0, len(order) // 2, count)]
        parts.append(codes | rng.choice([0, 1 << (fmt.bits - 1)], (count, products)))
    return parts[0], parts[1]


def _equal(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    """The same magnitudes in every lane, all of one sign, one opposed, or signs drawn: carries and their absence."""
    magnitudes = [fmt.ordered_magnitudes() for fmt in (a, b)]
    largest = rng.random(count) < 0.25
    x, y = (np.where(largest, order[-1], rng.choice(order, count)) for order in magnitudes)
    negative = rng.integers(0, 2, (count, products))
    negative[::3] = rng.integers(0, 2, (len(negative[::3]), 1))
    negative[1::3] = np.arange(products) == rng.integers(0, products, (len(negative[1::3]), 1))
    return x[:, None] | negative << (a.bits - 1), np.repeat(y[:, None], products, axis=1)


def _zeros(a: Format, b: Format, products: int, count: int, rng: np.random.Generator) -> Lanes:
    """Products that are all zero: all positive, all negative, or of drawn signs."""
    of_a = rng.integers(0, 2, (count, products)).astype(np.bool_)
    x, y = (
        np.where(here, 0, rng.choice(finite(fmt), of_a.shape)) & (1 << (fmt.bits - 1)) - 1
        for fmt, here in ((a, of_a), (b, ~of_a))
    )
    negative = rng.integers(0, 2, (count, products))
    negative[::3], negative[1::3] = 0, 1
    of_b = rng.integers(0, 2, (count, products))
    return x | (negative ^ of_b) << (a.bits - 1), y | of_b << (b.bits - 1)


def _mostly_finite(fmt: Format, rng: np.random.Generator) -> NDArray[Any]:
    """Codes to draw lanes from: every class, and as many finite numbers again."""
    every = np.array(classes(fmt))
    return np.concatenate([every, rng.choice(finite(fmt), 2 * len(every))])


def _around(
    x: NDArray[Any], y: NDArray[Any], a: Format, b: Format, result: FixedFormat, rng: np.random.Generator
) -> Codes:
    """Addends of either sign from far below the largest product to above the sum of all, a few zero."""
    largest = np.abs(decode(x, a).astype(np.float64) * decode(y, b).astype(np.float64)).max(axis=1)
    p, count = result.fraction_bits, len(x)
    difference = rng.integers(-2 * p - 4, p + 4, count)
    fraction = rng.integers(0, 1 << p, count) & rng.choice([0, -1, (1 << p // 2) - 1, -1 << p // 2], count)
    codes = addend(result, largest, difference, fraction, rng.integers(0, 2, count))
    return np.where(rng.random(count) < 0.1, 0, codes)
