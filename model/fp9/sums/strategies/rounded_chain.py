"""Chains of one product a step, rounded in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.formats.host import BINARY32
from fp9.kernels import matrices as matmul_kernels
from fp9.rounding import Rounding
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder
from fp9.sums.sides import Places, Side
from fp9.sums.strategies.base import (
    some_of,
)
from fp9.sums.strategies.facts import is_exact, is_in_float32, product_bits
from fp9.sums.strategies.marked import Marked


class RoundedChain(Marked):
    """One product a step and a result of at most 11 bits, carried in float32."""

    carrier = np.float32

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result, engine.rounding, np.float32)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        precision = engine.result.precision
        narrow = 2 * precision + 2 <= BINARY32.precision and product_bits(a, b) <= precision
        to_nearest = engine.rounding is not Rounding.RTZ
        return is_exact(engine) and engine.products == 1 and to_nearest and narrow and is_in_float32(a, b)

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        matmul_kernels.rounded_chain(a, b, acc, *ends, self._rounder)
        return acc

    def _mark(
        self, rows: Places, columns: Places, acc: NDArray[Any], marks: NDArray[Any], begin: int, end: int
    ) -> None:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        lowest = np.float32(2.0**self.engine.result.min_normal_exponent)
        matmul_kernels.rounded_chain_flagged(a, b, acc, marks, *ends, lowest, self._rounder)
