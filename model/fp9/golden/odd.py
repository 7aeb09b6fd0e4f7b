"""Functions that add two float64 numbers: one rounds the sum to odd, the other also returns the rounding error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


def two_sum(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Return the rounded sum and its exact rounding error (Knuth's TwoSum)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def odd_sum(x: Numbers, y: Numbers) -> Numbers:
    total, error = two_sum(x, y)
    inexact = np.isfinite(total) & (error != 0)
    bits = total.view(np.int64)
    odd = (bits - ((error < 0) != (total < 0))) | 1
    return np.where(inexact, odd, bits).view(np.float64)
