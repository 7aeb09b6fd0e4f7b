"""Corner-case operations with a single product, in which both operands have the wide format of the result."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode, encode
from fp9.formats import FixedFormat
from fp9.suites.columns import Triple, addend, beside_special, finite, walking_codes, walking_fractions
from fp9.suites.sums.product_and_addend import (
    alignments,
    boundaries,
    class_cross,
    crossed,
    nearly_opposite,
    product,
    residues,
    to_boundaries,
)


def wide_corner(fmt: FixedFormat, operations: int, rng: np.random.Generator) -> Triple:
    share = operations // 16
    parts = [family(fmt, fmt, fmt, share, rng) for family in (class_cross, alignments, residues, boundaries)]
    parts += [_telling(fmt, 4 * share, rng), _ending(fmt, share, rng), _nearly_special(fmt, share, rng)]
    parts += [_beside_ties(fmt, 4 * share, rng), *_walking(fmt, share, rng)]
    parts.append(_long_cancellations(fmt, share, rng))
    a, b, c = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return a, b, c


def _telling(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    # The addends are near the product, nearly cancel it, or move the sum to a rounding boundary.
    walking, p = walking_fractions(fmt), fmt.fraction_bits
    x, y = rng.choice(walking, count), np.where(rng.random(count) < 1 / 3, 0, rng.choice(walking, count))
    total = rng.integers(0, fmt.max_code >> p, count)
    first = rng.integers(0, fmt.max_code >> p, count)
    second = np.clip(total + fmt.bias - first, 1, (fmt.max_code >> p) - 1)
    x, y = (
        (field << p | fraction | rng.choice([0, fmt.sign_mask], count)).astype(np.uint32)
        for field, fraction in ((np.maximum(first, 1), x), (second, y))
    )
    products = product(x, y, fmt, fmt)
    difference = rng.integers(-p - 3, 2 * p + 4, count)
    near = addend(fmt, np.abs(products), difference, rng.choice(walking, count), rng.integers(0, 2, count))
    c = np.choose(np.arange(count) % 3, [near, nearly_opposite(products, fmt, rng), to_boundaries(products, fmt, rng)])
    return x, y, c


def _beside_ties(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    # The addend's last bit is just above the last bits of the product.
    p, top = fmt.fraction_bits, fmt.max_code >> fmt.fraction_bits
    length = rng.integers(2, 2 * p + 3, count)
    pairs = _telling_tails(p)
    chosen = np.array([pairs[t][rng.integers(len(pairs[t]))] for t in length])
    fractions = chosen >> p, chosen & (1 << p) - 1
    field = rng.integers(1, top, count)
    total = field + p - length + fmt.bias
    first = rng.integers(np.maximum(1, total - top + 1), np.minimum(top, np.maximum(total, 2)))
    fields = first, np.clip(total - first, 1, top - 1)
    x, y = (e << p | f for e, f in zip(fields, fractions, strict=True))
    walking, drawn = rng.choice(walking_fractions(fmt), count), rng.integers(0, 1 << p, count)
    c = field << p | np.where(rng.random(count) < 0.5, walking, drawn)
    signs = rng.choice([0, fmt.sign_mask], (3, count))
    x, y, c = ((column | sign).astype(np.uint32) for column, sign in zip((x, y, c), signs, strict=True))
    return x, y, c


@functools.lru_cache(maxsize=4)
def _telling_tails(p: int) -> dict[int, NDArray[np.int64]]:
    pairs = np.arange(1 << 2 * p)
    products = (pairs >> p | 1 << p) * (pairs & (1 << p) - 1 | 1 << p)
    found = {}
    for length in range(2, 2 * p + 3):
        half = 1 << (length - 1)
        beside = (products + half // 2 & half - 1) - half // 2
        found[length] = pairs[(np.abs(beside) & np.abs(beside) - 1) == 0]
    return found


def _long_cancellations(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    # The addend cancels all but the low bits of the product.
    one = 1 << fmt.fraction_bits
    drawn = rng.integers(0, one, (2, 128 * count)) + (fmt.bias + rng.integers(-8, 9, (2, 128 * count))) * one
    x, y = (drawn | rng.choice([0, fmt.sign_mask], drawn.shape)).astype(np.uint32)
    products = product(x, y, fmt, fmt)
    c = encode(-products, fmt, "rne").astype(np.uint32)
    left = np.abs((products + decode(c, fmt)) / products)
    nearest = np.argsort(np.where(left == 0, np.inf, left), kind="stable")[:count]
    return x[nearest], y[nearest], c[nearest]


def _ending(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    # In one third of the operations, the addend nearly cancels the product.
    p, top = fmt.fraction_bits, fmt.max_code >> fmt.fraction_bits
    x = rng.choice(finite(fmt), count)
    high = rng.integers(0, 2, count)
    field = np.where(high, top, 0) + rng.integers(-p - 4, 5, count)
    y = np.clip(field + fmt.bias - ((x & fmt.magnitude_mask) >> p), 0, top) << p
    c = np.clip(np.where(high, top, 0) + rng.integers(-3, 4, count), 0, top) << p
    fractions = rng.integers(0, 1 << p, (2, count))
    y, c = (np.minimum(codes | fraction, fmt.max_code) for codes, fraction in zip((y, c), fractions, strict=True))
    signs = rng.choice([0, fmt.sign_mask], (2, count))
    y, c = (y | signs[0]).astype(np.uint32), (c | signs[1]).astype(np.uint32)
    met = np.arange(count) % 3 == 0
    return x, y, np.where(met, nearly_opposite(product(x, y, fmt, fmt), fmt, rng), c)


def _nearly_special(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    # The other operands are chosen so that product and sum stay finite.
    p, bias = fmt.fraction_bits, fmt.bias
    codes = rng.choice(beside_special(fmt), count)
    fractions = rng.choice(walking_fractions(fmt), (2, count))
    field = np.clip(2 * bias - (codes >> p) + rng.integers(-3, 4, count), 1, 2 * bias - 1)
    partner, one = field << p | fractions[0], (bias + rng.integers(-3, 4, count)) << p | fractions[1]
    low = rng.integers(1, bias, count) << p | fractions[0]
    roles = np.arange(count) % 3
    x, y, z = (np.choose(roles, ways) for ways in ((codes, partner, low), (partner, codes, one), (one, one, codes)))
    signs = rng.choice([0, fmt.sign_mask], (3, count))
    x, y, z = ((column | sign).astype(np.uint32) for column, sign in zip((x, y, z), signs, strict=True))
    return x, y, z


def _walking(fmt: FixedFormat, count: int, rng: np.random.Generator) -> list[Triple]:
    codes = walking_codes(fmt).astype(np.uint32)
    x, y, z = (rng.choice(codes, count) for _ in range(3))
    one = np.uint32(fmt.bias << fmt.fraction_bits)
    few_x, few_y = crossed([0, fmt.sign_mask, one, one | fmt.sign_mask], [0, one, one | fmt.sign_mask])
    return [(x, y, z), (rng.choice(few_x, count), rng.choice(few_y, count), rng.choice(codes, count))]


__all__ = ["wide_corner"]
