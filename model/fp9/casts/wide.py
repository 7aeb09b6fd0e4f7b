"""Decoding of fixed-field codes wider than 16 bits, without a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats import FixedFormat, Format

if TYPE_CHECKING:
    from numpy.typing import NDArray


def decode_wide(codes: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Return the numbers in the shape of `codes`: float32 for FP32 and its truncated variants, else float64."""
    assert isinstance(fmt, FixedFormat), "formats of other families have 8 bits"
    if fmt.native_dtype == "float32":
        return np.asarray(codes, dtype=np.uint32).view(np.float32)
    ordinals = (codes.astype(np.int64) & fmt.magnitude_mask) >> fmt.padding
    fields, fractions = ordinals >> fmt.fraction_bits, ordinals & ((1 << fmt.fraction_bits) - 1)
    subnormal = (fields == 0) & fmt.subnormals
    significands = fractions + np.where(subnormal, 0, 1 << fmt.fraction_bits)
    numbers = np.ldexp(significands.astype(np.float64), fields + subnormal - (fmt.bias + fmt.fraction_bits))
    top = fmt.max_code >> fmt.padding
    numbers = np.where(ordinals == 0, 0.0, np.where(ordinals > top, np.nan, numbers))
    if fmt.has_inf:
        numbers = np.where(ordinals == top + 1, np.inf, numbers)
    negative = (codes & fmt.sign_mask) != 0
    if fmt.nan_code(False) == fmt.sign_mask:
        numbers = np.where(negative & (ordinals == 0), np.nan, numbers)
    signed = fmt.signed_zero | ~(np.isnan(numbers) | (numbers == 0))
    return np.where(negative & signed, -numbers, numbers)
