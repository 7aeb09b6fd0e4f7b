"""Operation sequences that bring an accumulator chunk to its largest number, or to a significand of all ones."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from fp9.formats import pow2
from fp9.suites.columns import Inputs, classes, concatenated, fixed
from fp9.suites.sums.exact import Product, negated, power_products, sequence
from fp9.units import Mac, MacOp

# Preferred exponent of the power of two that cancels a chunk. A lower exponent is used if no product reaches it.
_TOP = 8


def full_chunks(unit: Mac, group: int) -> Inputs:
    """Return operation sequences in which the first lane sums powers of two."""
    fmt = fixed(unit.engine.result.format)
    powers = power_products(unit)
    top = min(_TOP, max(powers))
    # The chunk reaches a significand of all ones. Subtracting the next power of two leaves only the last bit.
    ones = _summands(unit, pow2(top) - pow2(top - fmt.fraction_bits - 1))
    above = powers[top]
    parts = [_sequence(unit, [*ones, negated(unit, above)], group)]
    parts.append(_sequence(unit, [*(negated(unit, one) for one in ones), above], group))
    if fmt.max_magnitude <= unit.chunk_steps * pow2(max(powers)):
        # The chunk reaches the largest number, and then adds a product of any two operand classes.
        largest = _summands(unit, fmt.max_magnitude)
        met = itertools.product(classes(unit.a[0]), classes(unit.b[0]))
        parts += [_sequence(unit, [*largest, (x, y, 0, 0)], group) for x, y in met]
    every, number = classes(fixed(unit.engine.addend_format)), np.arange(len(parts))
    totals = np.array(every, dtype=np.uint32)[(number + number // len(every)) % len(every)]
    return concatenated([part | {"c": np.full_like(part["c"], c)} for part, c in zip(parts, totals, strict=True)])


def _summands(unit: Mac, total: Fraction) -> list[Product]:
    powers = power_products(unit)
    summands = []
    for exponent in sorted(powers, reverse=True):
        count = total // pow2(exponent)
        summands += [powers[exponent]] * count
        total -= count * pow2(exponent)
    return summands


def _sequence(unit: Mac, products: list[Product], group: int) -> Inputs:
    steps = [(MacOp.ACCUMULATE if i else MacOp.LOAD, product) for i, product in enumerate(products)]
    holds = [(MacOp.HOLD, None)] * (-(len(steps) + 1) % group)
    return sequence(unit, [*steps, (MacOp.FOLD, None), *holds])
