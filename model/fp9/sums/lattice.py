"""Find rows and columns of a matrix product that contain numbers with 1 bits of unusually low weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.sums.sides import Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 0.25
"""Largest fraction of masked rows, added over both operands.

Masked rows are computed again at a third of the speed, so the second computation takes about as long as the first.
"""


def finer_rows(a: Side, b: Side, lowest: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return two masks: the rows of `a` and the rows of `b` whose numbers have nonzero bits of unusually low weight.

    Any number of an unmasked row of `a` times any number of an unmasked row of `b` is a multiple of 2^`lowest`. Return
    None if too many rows would be masked.
    """
    if a.met_span.lowest + b.met_span.lowest >= lowest:
        nothing = np.zeros(1, dtype=np.bool_)
        return nothing, nothing
    bits = [side.rows("lowest bits").min(axis=1).astype(np.int64) for side in (a, b)]
    ends = np.arange(a.span.lowest, lowest - b.span.lowest + 1)
    shares = _shares_below(bits[0], ends) + _shares_below(bits[1], lowest - ends)
    best = int(shares.argmin())
    end = int(ends[best])
    return (bits[0] < end, bits[1] < lowest - end) if shares[best] <= _FEW else None


def _shares_below(bits: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[Any]:
    return np.searchsorted(np.sort(bits), ends) / bits.size


__all__ = ["finer_rows"]
