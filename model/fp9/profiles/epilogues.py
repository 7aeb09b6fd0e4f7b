"""FP32 operations of a GPU library on the sums of a matrix product: scales and bias.

The functions take NumPy arrays or torch tensors of FP32 numbers.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def product(x: Any, y: Any) -> Any:
    """Return the product of FP32 numbers, rounded once to FP32."""
    library, (p, q) = _library(x), _wide(x, y)
    with np.errstate(invalid="ignore", over="ignore"):
        # The addition of 0 turns an exact -0 into +0. A product that rounds to zero keeps its sign.
        return library.asarray(p * q + 0, dtype=library.float32)


def fused(x: Any, y: Any, z: Any) -> Any:
    """Return x * y + z for FP32 numbers, rounded once to FP32."""
    library, (p, q, c) = _library(x), _wide(x, y, z)
    with np.errstate(invalid="ignore", over="ignore"):
        p = p * q
        total = library.asarray(p + c)
        part = total - p
        error = (p - (total - part)) + (c - part)
        above, below, bits = error > 0, error < 0, total.view(library.int64)
        outwards = library.where(above == (total > 0), 1, -1)
        # Round to odd: the second rounding, to FP32, is then correct.
        odd = library.where((above | below) & (bits & 1 == 0), bits + outwards, bits).view(library.float64)
        return library.asarray(odd, dtype=library.float32)


def _library(x: Any) -> Any:
    return sys.modules[type(x).__module__.partition(".")[0]]  # numpy or torch


def _wide(*numbers: Any) -> list[Any]:
    library = _library(numbers[0])
    return [library.asarray(each, dtype=library.float64) for each in numbers]


def once(sums: Any, scale_a: Any, scale_b: Any) -> Any:
    return product(sums, product(scale_a, scale_b))


def a_then_b(sums: Any, scale_a: Any, scale_b: Any) -> Any:
    return product(product(sums, scale_a), scale_b)


def b_then_a(sums: Any, scale_a: Any, scale_b: Any) -> Any:
    return product(product(sums, scale_b), scale_a)


def unscaled(sums: Any, scale_a: Any, scale_b: Any) -> Any:
    # The instruction itself applies the scales.
    return sums + 0


def added(sums: Any, bias: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return sums + bias


def scaled_once(part: Any, scale_a: Any, scale_b: Any, total: Any) -> Any:
    return fused(part, product(scale_a, scale_b), total)


def scaled_by_a_first(part: Any, scale_a: Any, scale_b: Any, total: Any) -> Any:
    # Only the product with `scale_b` is fused with the addition of the total.
    return fused(product(part, scale_a), scale_b, total)
