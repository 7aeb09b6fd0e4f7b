"""Corner operations of one product whose operands have the format of the result: the families, and telling factors."""

from __future__ import annotations

import numpy as np

from fp9.casting import decode, encode
from fp9.formats import FixedFormat
from fp9.stimulus.columns import Triple, addend, finite, walking_codes, walking_fractions
from fp9.stimulus.families import (
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
    """The families of one product whose operands and addend have the same wide format, as many of each."""
    share = operations // 8
    parts = [family(fmt, fmt, fmt, share, rng) for family in (class_cross, alignments, residues, boundaries)]
    parts += [_telling(fmt, share, rng), _ending(fmt, share, rng), *_walking(fmt, share, rng)]
    parts.append(_long_cancellations(fmt, share // 2, rng))
    a, b, c = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return a, b, c


def _telling(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Products of walking significands, with addends near them, nearly opposite, or that lead to boundaries."""
    walking, one = walking_fractions(fmt), 1 << fmt.fraction_bits
    x, y = (rng.choice(walking, count) + (fmt.bias + rng.integers(-8, 9, count)) * one for _ in range(2))
    x, y = (codes | rng.choice([0, fmt.sign_mask], count) for codes in (x, y))
    products = product(x, y, fmt, fmt)
    difference = rng.integers(-fmt.fraction_bits - 3, 2 * fmt.fraction_bits, count)
    near = addend(fmt, np.abs(products), difference, rng.choice(walking, count), rng.integers(0, 2, count))
    c = np.choose(np.arange(count) % 3, [near, nearly_opposite(products, fmt, rng), to_boundaries(products, fmt, rng)])
    return x.astype(np.uint32), y.astype(np.uint32), c


def _long_cancellations(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Of many products those whose nearest number is nearest: opposite to it, the addend leaves their last places."""
    one = 1 << fmt.fraction_bits
    drawn = rng.integers(0, one, (2, 128 * count)) + (fmt.bias + rng.integers(-8, 9, (2, 128 * count))) * one
    x, y = (drawn | rng.choice([0, fmt.sign_mask], drawn.shape)).astype(np.uint32)
    products = product(x, y, fmt, fmt)
    c = encode(-products, fmt, "rne").astype(np.uint32)
    left = np.abs((products + decode(c, fmt)) / products)
    nearest = np.argsort(np.where(left == 0, np.inf, left))[:count]
    return x[nearest], y[nearest], c[nearest]


def _ending(fmt: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Products that lie where the numbers end, and addends there, too, a third of them nearly opposite."""
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


def _walking(fmt: FixedFormat, count: int, rng: np.random.Generator) -> list[Triple]:
    """Walking codes of every exponent in all places at once, and as addends beside ones and zeros."""
    codes = walking_codes(fmt).astype(np.uint32)
    x, y, z = (rng.choice(codes, count) for _ in range(3))
    one = np.uint32(fmt.bias << fmt.fraction_bits)
    few_x, few_y = crossed([0, fmt.sign_mask, one, one | fmt.sign_mask], [0, one, one | fmt.sign_mask])
    return [(x, y, z), (rng.choice(few_x, count), rng.choice(few_y, count), rng.choice(codes, count))]


__all__ = ["wide_corner"]
