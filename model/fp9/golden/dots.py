"""Golden dot products of a `MultiFpu`: exact sums of products and an addend, rounded to odd.

The sum of two or four products has at most 80 bits. Two float64 numbers hold the sum exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fp9.formats.rounding import Flags
from fp9.golden.odd import odd_sum, two_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fp9.golden.fpu_operands import Operand

    Numbers = NDArray[np.float64]
    Bools = NDArray[np.bool_]


def dot_sum(lanes: Sequence[tuple[Operand, Operand]], c: Operand, minus: Bools) -> tuple[Numbers, NDArray[np.uint8]]:
    """Return the sum of all products and the addend c, rounded to odd, and the flag `invalid`.

    Where `minus` is set, terms that cancel exactly give -0.
    """
    with np.errstate(invalid="ignore"):
        products = [a.numbers * b.numbers for a, b in lanes]
        total = _odd_total(products, c.numbers)
        terms = [*products, c.numbers]
        plain = np.sum(np.where(np.isfinite(terms), 0, terms), axis=0)
    total = np.where(np.isfinite(terms).all(axis=0), total, plain)
    all_negative = np.all([(term == 0) & np.signbit(term) for term in terms], axis=0)
    all_positive = np.all([(term == 0) & ~np.signbit(term) for term in terms], axis=0)
    zero = np.where(all_negative | (minus & ~all_positive), -0.0, 0.0)
    return np.where(total == 0, zero, total), _invalid(lanes, products, c, total)


def _odd_total(products: Sequence[Numbers], c: Numbers) -> Numbers:
    high, low = products[0], np.zeros(len(c))
    for product in products[1:]:
        high, error = two_sum(high, product)
        low = low + error
    high, low = two_sum(high, low)
    top, error = two_sum(high, c)
    return odd_sum(top, odd_sum(error, low))


def _invalid(
    lanes: Sequence[tuple[Operand, Operand]], products: Sequence[Numbers], c: Operand, total: Numbers
) -> NDArray[np.uint8]:
    # The product 0 x infinity raises `invalid` even if the addend or another factor is a quiet NaN (RISC-V).
    signaling = np.logical_or.reduce([x.signaling for pair in lanes for x in pair] + [c.signaling])
    undefined = [np.isnan(product) & ~(a.nan | b.nan) for (a, b), product in zip(lanes, products, strict=True)]
    any_nan = np.logical_or.reduce([np.isnan(product) for product in products] + [c.nan])
    invalid = signaling | np.logical_or.reduce(undefined) | (np.isnan(total) & ~any_nan)
    return np.where(invalid, Flags.INVALID, 0).astype(np.uint8)
