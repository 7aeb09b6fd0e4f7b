"""Which rows of two sides are multiples of powers of two that are large enough together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.engines import NO_EXPONENT
from fp9.sums.sides import Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 0.25
"""Share of rows that may have lower bits: computed once more, at a third of the speed or less, they cost as much."""


class Lattice(NamedTuple):
    """Exponents of powers of two, and which rows of either side are no multiples of them."""

    a: int
    b: int
    finer_a: NDArray[np.bool_]
    finer_b: NDArray[np.bool_]


def lattice(a: Side, b: Side, lowest: int, few: float) -> Lattice | None:
    """Powers whose product is at least 2^lowest, with the fewest rows that are no multiples; None above `few`."""
    if a.span.lowest + b.span.lowest >= lowest:
        nothing = np.zeros(1, dtype=np.bool_)
        return Lattice(a.span.lowest, b.span.lowest, nothing, nothing)
    bits = [side.rows("lowest bits").min(axis=1).astype(np.int64) for side in (a, b)]
    ends = np.arange(a.span.lowest, lowest - b.span.lowest + 1)
    shares = _shares_below(bits[0])[ends - NO_EXPONENT] + _shares_below(bits[1])[lowest - ends - NO_EXPONENT]
    best = int(shares.argmin())
    end = int(ends[best])
    if shares[best] > few:
        return None
    return Lattice(end, lowest - end, bits[0] < end, bits[1] < lowest - end)


def _shares_below(bits: NDArray[np.int64]) -> NDArray[Any]:
    """Shares of rows whose lowest bits are below each exponent from NO_EXPONENT on."""
    counts = np.bincount(bits - NO_EXPONENT, minlength=2 * -NO_EXPONENT)
    return np.concatenate([[0.0], np.cumsum(counts)]) / bits.size


__all__ = ["FEW", "Lattice", "lattice"]
