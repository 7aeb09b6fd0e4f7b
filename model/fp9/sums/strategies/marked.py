"""Strategies whose steps mark sums with their flags."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.kernels import matrices as matmul_kernels
from fp9.sums.sides import Places
from fp9.sums.strategies.base import (
    FastSums,
    Flagged,
)
from fp9.system.scratch import scratch_copy, scratch_full


class Marked(FastSums):
    """Strategies whose steps mark sums with their flags."""

    @property
    def has_flags(self) -> bool:
        return True

    def flagged(self, rows: Places, columns: Places, start: NDArray[np.float64]) -> Flagged:
        sums = scratch_copy(start, self.carrier)
        marks = scratch_full(start.shape, 0, f"i{sums.itemsize}")
        if self.joins:
            sums = scratch_copy(start, start.dtype)
            lowest = 2.0**self.engine.output.min_normal_exponent
            for begin, end, scales in self._chunks(rows, columns):
                parts = scratch_full(start.shape, 0.0, self.carrier)
                self._mark(rows, columns, parts, marks, begin, end)
                matmul_kernels.join_flagged(sums, parts, *scales, self._total, lowest, marks)
        else:
            self._mark(rows, columns, sums, marks, 0, self.depth)
        return Flagged(sums, marks.astype(np.uint8), marks >= matmul_kernels.DOUBTFUL)

    @abc.abstractmethod
    def _mark(
        self, rows: Places, columns: Places, acc: NDArray[Any], marks: NDArray[Any], begin: int, end: int
    ) -> None:
        """Carry accumulators in their place through products, and their flags."""
