"""Golden dot products of a multi-format FPU: exact sums of products and an addend, rounded to odd."""

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
    """Return exact sums of products and addend, rounded to odd, and the flag `invalid` of each operation.

    Where `minus` is true, terms that cancel exactly give -0.
    """
    with np.errstate(invalid="ignore"):
        products = [a.numbers * b.numbers for a, b in lanes]
        terms = [*products, c.numbers]
        total = _odd_total(terms)
        plain = np.sum(np.where(np.isfinite(terms), 0, terms), axis=0)
    total = np.where(np.isfinite(terms).all(axis=0), total, plain)
    all_negative = np.all([(term == 0) & np.signbit(term) for term in terms], axis=0)
    all_positive = np.all([(term == 0) & ~np.signbit(term) for term in terms], axis=0)
    zero = np.where(all_negative | (minus & ~all_positive), -0.0, 0.0)
    return np.where(total == 0, zero, total), _invalid(lanes, products, c, total)


def _odd_total(terms: Sequence[Numbers]) -> Numbers:
    # The parts add up exactly to the sum of the terms. Each part is below the last bit of the next part (Shewchuk,
    # Discrete & Computational Geometry 1997, Grow-Expansion), so odd_sum only sees how a smaller part rounds.
    parts: list[Numbers] = []
    for term in terms:
        rest = term
        for i, part in enumerate(parts):
            rest, parts[i] = two_sum(rest, part)
        parts.append(rest)
    total = parts[0]
    for part in parts[1:]:
        total = odd_sum(part, total)
    return total


def _invalid(
    lanes: Sequence[tuple[Operand, Operand]], products: Sequence[Numbers], c: Operand, total: Numbers
) -> NDArray[np.uint8]:
    # The product 0 x infinity raises `invalid` even if the addend or another factor is a quiet NaN (RISC-V).
    signaling = np.logical_or.reduce([x.signaling for pair in lanes for x in pair] + [c.signaling])
    undefined = [np.isnan(product) & ~(a.nan | b.nan) for (a, b), product in zip(lanes, products, strict=True)]
    any_nan = np.logical_or.reduce([np.isnan(product) for product in products] + [c.nan])
    invalid = signaling | np.logical_or.reduce(undefined) | (np.isnan(total) & ~any_nan)
    return np.where(invalid, Flags.INVALID, 0).astype(np.uint8)
