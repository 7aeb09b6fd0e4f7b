"""Steps with a window, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.kernels import windows as window_kernels
from fp9.sums.general import GeneralSums
from fp9.sums.operands import Span
from fp9.sums.rounders import rounder
from fp9.sums.sides import Places, Side
from fp9.sums.strategies.base import (
    FastSums,
    some_of,
    zeros_count,
)


class Windowed(FastSums):
    """Steps with a window."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        general = GeneralSums(engine, a, b, joins)
        self._powers = a.powers, b.columns("powers")
        self._sums = general.sums
        self._rounder = rounder(engine.result, engine.rounding, np.float64)
        self._kernel = window_kernels.windowed if engine.interleaved is None else window_kernels.interleaved

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        """A zero's exponent is not looked at: no number may lie below it."""
        return engine.window is not None and engine.group is None and not zeros_count(engine, a, b)

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        a, b, *ends = some_of((self.a, self.b), rows, columns, begin, end)
        powers = some_of(self._powers, rows, columns, begin, end)[:2]
        self._kernel(self._sums, a, b, *powers, acc, *ends, self._rounder)
        return acc
