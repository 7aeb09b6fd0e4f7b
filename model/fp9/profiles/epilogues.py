"""Operations in FP32 that a library applies to the sums: scales, bias and the output's scale.

Each line is one rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rounded(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return float64 numbers rounded to FP32, to nearest."""
    with np.errstate(over="ignore"):
        return x.astype(np.float32)


def product(x: Any, y: Any) -> NDArray[np.float32]:
    """Return FP32 numbers multiplied, and rounded once: float64 holds their product exactly."""
    with np.errstate(invalid="ignore"):
        return rounded(np.asarray(x, np.float64) * np.asarray(y, np.float64) + 0.0)


def fused(x: Any, y: Any, z: Any) -> NDArray[np.float32]:
    """Return x * y + z for FP32 numbers, rounded once."""
    with np.errstate(invalid="ignore", over="ignore"):
        p, c = np.asarray(x, np.float64) * np.asarray(y, np.float64), np.asarray(z, np.float64)
        total = np.asarray(p + c)
        part = total - p
        error = (p - (total - part)) + (c - part)
        toward = np.where(error > 0, np.inf, -np.inf)
        even = total.view(np.int64) & 1 == 0
        inexact = np.isfinite(total) & (error != 0) & even
        return rounded(np.where(inexact, np.nextafter(total, toward), total))


def once(sums: Any, scale_a: Any, scale_b: Any) -> NDArray[np.float32]:
    """Return the sums times one factor, the rounded product of both scales."""
    return product(sums, product(scale_a, scale_b))


def a_then_b(sums: Any, scale_a: Any, scale_b: Any) -> NDArray[np.float32]:
    """Return the sums times the scale of a, rounded, times the scale of b."""
    return product(product(sums, scale_a), scale_b)


def b_then_a(sums: Any, scale_a: Any, scale_b: Any) -> NDArray[np.float32]:
    """Return the sums times the scale of b, rounded, times the scale of a."""
    return product(product(sums, scale_b), scale_a)


def unscaled(sums: Any, scale_a: Any, scale_b: Any) -> NDArray[np.float32]:
    """Return the sums: the instruction has applied the scales."""
    return rounded(np.asarray(sums, np.float64) + 0.0)


def added(sums: NDArray[np.float32], bias: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the sums plus the bias, rounded to FP32."""
    return rounded(sums.astype(np.float64) + bias.astype(np.float64))


def scaled_once(part: Any, scale_a: Any, scale_b: Any, total: Any) -> NDArray[np.float32]:
    """Return a chunk's sum times one factor, the rounded product of both scales, plus the total, rounded once."""
    return fused(part, product(scale_a, scale_b), total)


def scaled_by_a_first(part: Any, scale_a: Any, scale_b: Any, total: Any) -> NDArray[np.float32]:
    """Return a chunk's sum times the scale of a, rounded, times the scale of b plus the total, rounded once."""
    return fused(product(part, scale_a), scale_b, total)
