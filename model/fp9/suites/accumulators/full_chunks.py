"""Chunks with ones in every place: nearly cancelled by the power of two above them; the largest number, and what it
meets."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from fp9.formats import pow2
from fp9.suites.columns import Inputs, classes, concatenated, fixed
from fp9.suites.sums.exact import Product, negated, power_products, sequence
from fp9.units import Mac, MacOp

_TOP = 8
"""Exponent of the power of two above the chunk that it cancels, where there is such a product; else the largest."""


def full_chunks(unit: Mac, group: int) -> Inputs:
    """Sequences of a multiple of `group` operations, in which the first lane sums powers of two up to a chunk.

    The power of two above it leaves its last place of a chunk of ones, both signs. The largest number, where a chunk
    can be as large, meets every class of product of the first formats, and joins totals of every class.
    """
    fmt = fixed(unit.engine.result)
    powers = power_products(unit)
    top = min(_TOP, max(powers))
    ones = _summands(unit, pow2(top) - pow2(top - fmt.fraction_bits - 1))
    above = powers[top]
    parts = [_sequence(unit, [*ones, negated(unit, above)], group)]
    parts.append(_sequence(unit, [*(negated(unit, one) for one in ones), above], group))
    if fmt.max_magnitude <= unit.chunk_steps * pow2(max(powers)):
        largest = _summands(unit, fmt.max_magnitude)
        met = itertools.product(classes(unit.a[0]), classes(unit.b[0]))
        parts += [_sequence(unit, [*largest, (x, y, 0, 0)], group) for x, y in met]
    every, number = classes(fixed(unit.engine.addend_format)), np.arange(len(parts))
    totals = np.array(every, dtype=np.uint32)[(number + number // len(every)) % len(every)]
    return concatenated([part | {"c": np.full_like(part["c"], c)} for part, c in zip(parts, totals, strict=True)])


def _summands(unit: Mac, total: Fraction) -> list[Product]:
    """Products that are powers of two, the largest first, whose sum is `total`."""
    powers = power_products(unit)
    summands = []
    for exponent in sorted(powers, reverse=True):
        count = total // pow2(exponent)
        summands += [powers[exponent]] * count
        total -= count * pow2(exponent)
    return summands


def _sequence(unit: Mac, products: list[Product], group: int) -> Inputs:
    """LOAD, ACCUMULATE and FOLD; HOLD up to a multiple of `group`."""
    steps = [(MacOp.ACCUMULATE if i else MacOp.LOAD, product) for i, product in enumerate(products)]
    holds = [(MacOp.HOLD, None)] * (-(len(steps) + 1) % group)
    return sequence(unit, [*steps, (MacOp.FOLD, None), *holds])
