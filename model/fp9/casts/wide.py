"""Decoding of codes wider than 16 bits, without a look-up table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats import FixedFormat, Format

if TYPE_CHECKING:
    from numpy.typing import NDArray


def decode_wide(codes: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Decode FP32 codes to float32, and other codes to float64."""
    assert isinstance(fmt, FixedFormat), "formats of other families have 8 bits"
    if fmt.native_dtype == "float32":
        return np.asarray(codes, dtype=np.uint32).view(np.float32)
    return fmt.numbers(codes)
