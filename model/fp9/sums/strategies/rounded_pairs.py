"""Chains of one or two products a step, rounded in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.formats.host import BINARY64
from fp9.kernels import matrices as matmul_kernels
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder
from fp9.sums.sides import Places, Side
from fp9.sums.strategies.base import (
    range_bits,
    some_of,
)
from fp9.sums.strategies.facts import is_exact
from fp9.sums.strategies.marked import Marked


class RoundedPairs(Marked):
    """One or two products a step, summed with the addend in float64 to odd."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result, engine.rounding, np.float64)
        self._narrow = range_bits(a.span) + range_bits(b.span) <= BINARY64.precision

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        return is_exact(engine) and engine.products <= 2

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        products, neutral = self.engine.products, np.full(acc.shape[1], -0.0)
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        matmul_kernels.rounded_pairs(a, b, acc, *ends, products, self._narrow, neutral, self._rounder)
        return acc

    def _mark(
        self, rows: Places, columns: Places, acc: NDArray[Any], marks: NDArray[Any], begin: int, end: int
    ) -> None:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        lowest = 2.0**self.engine.result.min_normal_exponent
        matmul_kernels.rounded_pairs_flagged(a, b, acc, marks, *ends, self.engine.products, lowest, self._rounder)
