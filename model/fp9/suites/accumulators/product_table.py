"""Sorted table of the products of two operand codes.

For a given magnitude, the table finds two factors whose product is as large as possible, but not larger than the
magnitude.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from fp9.formats import Kind
from fp9.suites.columns import Inputs, crossed_magnitudes
from fp9.suites.sums.product_and_addend import crossed, product
from fp9.units import Dot

# Range of moderate products. The sum of many moderate products stays within the format's range.
_ORDINARY = (2.0**-3, 2.0**3)


class ProductTable:
    """Table of all products of two positive finite factors."""

    def __init__(self, unit: Dot) -> None:
        self._unit = unit
        parts = []
        for (i, a), (j, b) in itertools.product(enumerate(unit.a), enumerate(unit.b)):
            x, y = crossed(crossed_magnitudes(a), crossed_magnitudes(b))
            parts.append((product(x, y, a, b), x, y, np.full(len(x), i), np.full(len(x), j)))
        values, *rows = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(values, kind="stable")
        self.values, self._rows = values[order], np.stack(rows)[:, order].astype(np.uint32)
        self._sign = 1 << (unit.a[0].bits - 1)

    def at_most(self, wanted: NDArray[np.float64], rng: np.random.Generator) -> tuple[Inputs, NDArray[np.float64]]:
        """For each number in `wanted`, find the largest product that does not exceed the number in magnitude.

        Return a pair: input columns with the two factors of each found product in the first lane, and the array of
        found products.
        """
        finite = np.isfinite(wanted)
        size = np.abs(np.where(finite, wanted, 0.0))
        last = np.searchsorted(self.values, size, side="right")
        first = np.searchsorted(self.values, self.values[np.maximum(last - 1, 0)])
        row = rng.integers(first, np.maximum(last, first + 1))
        codes = self._rows[:, row].copy()
        codes[0, last == 0] = 0
        codes[0] |= np.signbit(wanted).astype(np.uint32) * np.uint32(self._sign)
        for special, kind in ((np.isinf(wanted), Kind.INF), (np.isnan(wanted), Kind.NAN)):
            codes[0, special], codes[2, special] = self._special(kind)
        values = np.where(last > 0, self.values[row], 0.0) * np.where(np.signbit(wanted), -1.0, 1.0)
        return self._columns(codes), np.where(finite, values, wanted)

    def ordinary(self, count: int, rng: np.random.Generator) -> Inputs:
        """Return factors whose products have both signs and moderate magnitudes."""
        low, high = np.searchsorted(self.values, _ORDINARY)
        if low == high:
            low, high = np.int64(0), np.int64(len(self.values))
        codes = self._rows[:, rng.integers(low, high, count)].copy()
        codes[0] |= rng.integers(0, 2, count, dtype=np.uint32) * np.uint32(self._sign)
        return self._columns(codes)

    def _special(self, kind: Kind) -> tuple[int, int]:
        for kinds in ((kind,), (Kind.INF, Kind.NAN)):
            for index, fmt in enumerate(self._unit.a):
                for code in range(1 << (fmt.bits - 1)):
                    if fmt.kind_of(code) in kinds:
                        return code, index
        return 0, 0

    def _columns(self, codes: NDArray[np.uint32]) -> Inputs:
        columns: Inputs = {port.name: np.zeros(codes.shape[1], dtype=np.uint32) for port in self._unit.factor_inputs}
        for number, operand in enumerate("ab"):
            columns[self._unit.lane_names(operand)[0]] = codes[number]
            if f"{operand}_format" in columns:
                columns[f"{operand}_format"] = codes[2 + number]
        return columns


__all__ = ["ProductTable"]
