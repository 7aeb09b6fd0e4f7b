"""Compute the code of each block's scale from the block's largest magnitude (amax).

Quotients are rounded to float64 and then to the scale format, which gives the same code as a single rounding.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_to, encode
from fp9.formats import format
from fp9.formats.blocks import BlockFormat, ScaleRule

_BF16 = format("bf16")


def bf16_reciprocals(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / numbers, rounded to bfloat16."""
    return decode_to(encode(1.0 / numbers, _BF16), _BF16, np.float64)


@functools.lru_cache(maxsize=64)
def _bf16_reciprocal(number: float) -> float:
    return float(bf16_reciprocals(np.array(number)))


def _ties_up(sizes: NDArray[np.float64], precision: int) -> NDArray[np.float64]:
    significands, exponents = np.frexp(sizes)
    rounded: NDArray[np.float64] = np.ldexp(np.floor(np.ldexp(significands, precision) + 0.5), exponents - precision)
    return rounded


def scale_codes(
    amax: NDArray[np.float64],
    block: BlockFormat,
    rule: ScaleRule,
    tensor_scale: float | NDArray[np.float64] = 1.0,
    divisor: float | None = None,
) -> NDArray[Any]:
    """Return each block's scale code (blocks,), computed from the block's largest magnitude in `amax` (blocks,)."""
    finite = np.isfinite(amax)
    sizes = np.where(finite, amax, 1.0)
    if rule.amax_first:
        sizes = _ties_up(sizes, block.element.precision)
    by = float(block.divisor(rule)) if divisor is None else divisor
    if rule.reciprocals:
        products = sizes * _bf16_reciprocal(by)
        quotients = decode_to(encode(products, _BF16), _BF16, np.float64)
    else:
        quotients = sizes / (by * tensor_scale)
    # A block of zeros has the smallest scale, and a block with an infinity or a NaN has the scale NaN.
    lowest = 0.0 if block.scale.has_zero else block.scale.smallest
    codes = encode(np.maximum(quotients, lowest), block.scale, rule.rounding)
    nan = block.scale.nan_code(False)
    assert nan is not None, "every scale has a NaN"
    return np.where(finite, codes, nan).astype(block.scale.dtype)
