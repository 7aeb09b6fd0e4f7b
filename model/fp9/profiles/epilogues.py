"""FP32 operations that a GPU library applies to a product's sums: scales and bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rounded(x: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return x.astype(np.float32)


def product(x: Any, y: Any) -> NDArray[np.float32]:
    """Return the product of FP32 numbers, rounded once to FP32."""
    with np.errstate(invalid="ignore"):
        return rounded(np.asarray(x, np.float64) * np.asarray(y, np.float64) + 0.0)


def fused(x: Any, y: Any, z: Any) -> NDArray[np.float32]:
    """Return x * y + z for FP32 numbers, rounded once to FP32."""
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
    return product(sums, product(scale_a, scale_b))


def a_then_b(sums: Any, scale_a: Any, scale_b: Any) -> NDArray[np.float32]:
    return product(product(sums, scale_a), scale_b)


def b_then_a(sums: Any, scale_a: Any, scale_b: Any) -> NDArray[np.float32]:
    return product(product(sums, scale_b), scale_a)


def unscaled(sums: Any, scale_a: Any, scale_b: Any) -> NDArray[np.float32]:
    # The instruction itself applies the scales.
    return rounded(np.asarray(sums, np.float64) + 0.0)


def added(sums: NDArray[np.float32], bias: NDArray[np.float32]) -> NDArray[np.float32]:
    return rounded(sums.astype(np.float64) + bias.astype(np.float64))


def scaled_once(part: Any, scale_a: Any, scale_b: Any, total: Any) -> NDArray[np.float32]:
    return fused(part, product(scale_a, scale_b), total)


def scaled_by_a_first(part: Any, scale_a: Any, scale_b: Any, total: Any) -> NDArray[np.float32]:
    """Compute total + (sum * scale_a) * scale_b for a chunk's sum.

    The first product is rounded to FP32. A fused multiply-add then multiplies by `scale_b` and adds the total.
    """
    return fused(product(part, scale_a), scale_b, total)
