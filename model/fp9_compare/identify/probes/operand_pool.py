"""Pool of products and addends from which probe sums are built."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fp9.casts.arrays import decode_to
from fp9.formats import Format, floor_log2
from fp9.sums.operands import bit_range
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.vectors import Vectors


class OperandPool:
    """Products and addends that the operand formats of an interface can represent."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.depth = interface.depth
        self._codes_a, self._codes_b = codes_of(interface.a), codes_of(interface.b)
        self._products, self._filled, self._unlike = _products(interface.a, interface.b)
        self._negated = negated(interface.a)
        self.lowest, self.highest = min(self._products), max(self._products)
        self.sum_lowest = bit_range(interface.output)[0]
        self.sum_highest = floor_log2(interface.output.max_magnitude)
        self.top = min(self.highest, self.sum_highest - 2)

    @property
    def zero(self) -> tuple[int, int]:
        return self._codes_a[0.0], self._codes_b[0.0]

    def power(self, exponent: int, negative: bool = False) -> tuple[int, int]:
        """Return codes whose product is 2^exponent, or the nearest possible power of two."""
        return self._signed(self._products[min(max(exponent, self.lowest), self.highest)], negative)

    def full(self, exponent: int, negative: bool = False) -> tuple[int, int]:
        """Return codes of two numbers with all fraction bits set and a product of about 2^exponent."""
        return self._signed(self._filled[min(max(exponent, self.lowest), self.highest)], negative)

    def unlike(self, exponent: int, negative: bool = False) -> tuple[int, int]:
        """Return codes whose product is 2^exponent, and whose magnitudes differ as much as possible."""
        return self._signed(self._unlike[min(max(exponent, self.lowest), self.highest)], negative)

    def negative(self, product: tuple[int, int]) -> tuple[int, int]:
        return int(self._negated[product[0]]), product[1]

    def _signed(self, factors: tuple[float, float], negative: bool) -> tuple[int, int]:
        x, y = factors
        return self._codes_a[-x if negative else x], self._codes_b[y]

    def largest(self, exponent: int) -> float:
        """Return the largest number below 2^(exponent + 1) in the result format."""
        return math.ldexp(2.0 - self._ulp(exponent), exponent)

    def next(self, exponent: int) -> float:
        """Return the smallest number above 2^exponent in the result format."""
        return math.ldexp(1.0 + self._ulp(exponent), exponent)

    def _ulp(self, exponent: int) -> float:
        return 2.0 ** -min(self.interface.output.precision - 1, exponent - self.sum_lowest)

    def special(self, what: Callable[[float], bool]) -> Iterator[tuple[int, int]]:
        """Find the first special number x of each operand format, and yield the code pairs of (x, 1) and (1, x).

        The function `what` returns whether a number is special.
        """
        one_a, one_b = self.power(0)
        for fmt, place in ((self.interface.a, 0), (self.interface.b, 1)):
            code = next((c for c, x in enumerate(fmt.table.tolist()) if what(x)), None)
            if code is not None:
                yield (code, one_b) if place == 0 else (one_a, code)

    def vectors(self, rows: Iterable[Row]) -> Vectors:
        made = list(rows)
        a = np.empty((len(made), self.depth), dtype=self.interface.a.dtype)
        b = np.empty((len(made), self.depth), dtype=self.interface.b.dtype)
        for i, (_, terms, _, rest) in enumerate(made):
            a[i], b[i] = rest or self.zero
            for place, (x, y) in terms.items():
                a[i, place], b[i, place] = x, y
        return Vectors(a, b, np.array([row[2] for row in made], dtype=np.float64), tuple(row[0] for row in made))


# The purpose, products by index, the addend, and the product at all other indices (None means zero).
Row = tuple[str, Mapping[int, tuple[int, int]], float, tuple[int, int] | None]


@functools.lru_cache(maxsize=64)
def codes_of(fmt: Format) -> dict[float, int]:
    """Return the code of each finite number of a format, and the code of +0 for zero."""
    numbers = decode_to(np.arange(1 << fmt.bits).astype(fmt.dtype), fmt, np.float64)
    return {x: code for code, x in reversed(list(enumerate(numbers.tolist()))) if math.isfinite(x)}


def _powers(a: Mapping[float, int], b: Mapping[float, int], sign: int) -> Powers:
    # If `sign` is 1, the two factors have magnitudes as similar as possible, and if -1, as different as possible.
    powers = [sorted(math.frexp(x)[1] - 1 for x in codes if x > 0 and math.frexp(x)[0] == 0.5) for codes in (a, b)]
    middles = [(p[0] + p[-1]) / 2 for p in powers]
    found: Powers = {}
    pairs = itertools.product(*powers)
    for x, y in sorted(pairs, key=lambda pair: sign * abs((pair[0] - middles[0]) - (pair[1] - middles[1]))):
        found.setdefault(x + y, (2.0**x, 2.0**y))
    return {e: found[e] for e in sorted(found)}


# Two factors of each product, by the exponent of the product.
Powers = dict[int, tuple[float, float]]


@functools.lru_cache(maxsize=64)
def _products(a: Format, b: Format) -> tuple[Powers, Powers, Powers]:
    codes_a, codes_b = codes_of(a), codes_of(b)
    powers = _powers(codes_a, codes_b, 1)
    ordered = sorted(codes_a), sorted(codes_b)
    filled = {e: (_filled(x, ordered[0]), _filled(y, ordered[1])) for e, (x, y) in powers.items()}
    return powers, filled, _powers(codes_a, codes_b, -1)


def _filled(power: float, ordered: Sequence[float]) -> float:
    """Return the largest number in the binade that begins at `power`."""
    return ordered[bisect.bisect_left(ordered, 2 * power) - 1]


@functools.lru_cache(maxsize=64)
def negated(fmt: Format) -> np.ndarray[Any, Any]:
    """Return an array that maps codes to the codes of the negated numbers."""
    codes = codes_of(fmt)
    table = np.arange(1 << fmt.bits).astype(fmt.dtype)
    for number, code in codes.items():
        table[code] = codes.get(-number, code) if number else code
    return table
