"""FP32 multiply-adds: the carrier's own additions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.kernels.tiles import chains as chain_kernels
from fp9.rounding import Rounding
from fp9.sums.operands import Span
from fp9.sums.sides import Places
from fp9.sums.strategies.base import (
    INEXACT,
    PRODUCTS_OF_TILES,
    FastSums,
    Flagged,
    some_of,
)
from fp9.sums.strategies.facts import is_exact, is_in_float32
from fp9.system.scratch import scratch, scratch_copy


class Chain(FastSums):
    """FP32 multiply-add: the products are exact in float32, and its addition is the engine's."""

    carrier = np.float32
    part = PRODUCTS_OF_TILES

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = is_exact(engine) and engine.products == 1
        return (
            plain
            and engine.result.native_dtype == "float32"
            and engine.rounding is Rounding.RNE
            and is_in_float32(a, b)
        )

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        chain_kernels.plain(a, b, acc, *ends)
        return acc

    @property
    def has_flags(self) -> bool:
        return not self.joins

    def flagged(self, rows: Places, columns: Places, start: NDArray[np.float64]) -> Flagged:
        """As the base class has it. A sum of multiples of the smallest number never underflows."""
        sums, inexact = scratch_copy(start, self.carrier), scratch(start.shape, np.bool_)
        a, b, *ends = some_of((self.a, self.b), rows, columns, 0, self.depth)
        chain_kernels.plain_flagged(a, b, sums, inexact, *ends)
        return Flagged(sums, inexact * INEXACT, np.zeros(start.shape, dtype=np.bool_))
