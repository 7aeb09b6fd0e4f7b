"""Sums of groups of products that are scaled before they are aligned (NVFP4): narrow elements as integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine, check_grouped
from fp9.kernels import groups as kernels
from fp9.sums.general import engine_numbers, step_rounding
from fp9.sums.sides import Places, Side, some_rows

if TYPE_CHECKING:
    from fp9.casts.random_bits import RandomBits

_ONE = np.ones((1, 1))


class GroupedSums:
    """An engine with groups made ready to sum rows of two sides of k products each.

    Raises ValueError for formats whose groups float64 cannot hold beside the window, or that are not all numbers.
    """

    def __init__(self, engine: Engine, a: Side, b: Side) -> None:
        assert engine.group is not None, "an engine with groups is asked for"
        check_grouped(engine, a.span.format, b.span.format)
        self._group = engine.group
        self._rounding = step_rounding(engine)
        lowest = a.span.lowest + b.span.lowest
        self._sums, _ = engine_numbers(engine, range(lowest, a.span.highest + b.span.highest + 2))
        self._sides = a.rows("integers"), b.rows("integers")
        self._unit = 2.0**lowest
        (factors_a, powers_a), (factors_b, powers_b) = scales_of_groups(a), scales_of_groups(b)
        self._factors, self._powers = (factors_a, factors_b), (powers_a, powers_b)

    def run(
        self,
        rows_a: Places,
        rows_b: Places,
        start: NDArray[np.float64],
        scales: NDArray[np.float64],
        random: RandomBits,
        codes: NDArray[Any],
        flags: NDArray[np.uint8],
    ) -> None:
        """As `GeneralSums.run`; `scales` are all 1, as these scales enter at products."""
        integers, factors, powers = (
            [some_rows(array, part) for array, part in zip(arrays, (rows_a, rows_b), strict=True)]
            for arrays in (self._sides, self._factors, self._powers)
        )
        wide = np.empty(codes.shape, dtype=np.uint32)
        kernels.grouped_rows(
            *self._rounding,
            self._sums,
            self._group,
            self._unit,
            random.width,
            *read_only(*integers, *factors, *powers, start, random.values),
            wide,
            flags,
        )
        codes[...] = wide


def scales_of_groups(side: Side) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factors and powers, (rows or 1, groups or 1)."""
    return (_ONE, _ONE) if side.groups is None else (side.groups.factors, side.groups.powers)
