"""Vectors that units are asked, and what an engine gives for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode_to, encode
from fp9.engines import Engine
from fp9.sums.operands import operand
from fp9.sums.products import dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.fit.interface import Interface
    from fp9.formats import FixedFormat

_NAN = np.uint64(0x7FF8 << 48)
_NEGATIVE = np.uint64(1 << 63)


@dataclass(frozen=True)
class Vectors:
    """Sums to be asked: codes a and b (n, k), numbers c (n,), and what each of them is for."""

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[np.float64]
    purposes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.c)

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Vectors:
        """Some of the vectors."""
        index = np.asarray(rows, dtype=np.intp)
        return Vectors(self.a[index], self.b[index], self.c[index], tuple(self.purposes[i] for i in index))

    def __add__(self, other: Vectors) -> Vectors:
        a, b, c = (np.concatenate(pair) for pair in ((self.a, other.a), (self.b, other.b), (self.c, other.c)))
        return Vectors(a, b, c, self.purposes + other.purposes)


def patterns(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Numbers as patterns that are equal where the numbers are: every NaN the same, -0 another one than +0."""
    found: NDArray[np.uint64] = np.where(np.isnan(numbers), _NAN, numbers.view(np.uint64))
    return found


def code_patterns(codes: NDArray[Any], interface: Interface) -> NDArray[np.uint64]:
    """Codes of results as such patterns; a NaN's holds its code, but where any NaN is as good as another."""
    numbers = patterns(decode_to(codes, interface.output, np.float64))
    if interface.any_nan:
        return numbers
    return np.where(numbers == _NAN, _NAN | codes.astype(np.uint64), numbers)


def nan_codes(results: NDArray[np.uint64]) -> tuple[int, ...]:
    """The codes of the NaN among patterns."""
    found = np.unique(results[(results >= _NAN) & (results < _NEGATIVE)] - _NAN)
    return tuple(code for code in found.tolist() if code)


class Predictions:
    """What engines give for some vectors; the operands are made ready once."""

    def __init__(self, interface: Interface, vectors: Vectors) -> None:
        self._a, self._b = operand(vectors.a, interface.a), operand(vectors.b, interface.b)
        self._interface, self._c = interface, vectors.c
        self._addends: dict[FixedFormat, NDArray[Any]] = {}

    def of(self, engine: Engine) -> NDArray[np.uint64] | None:
        """The patterns of the engine's sums (n,); None where it does not take the operands."""
        fmt = engine.addend_format
        if fmt not in self._addends:
            self._addends[fmt] = encode(self._c, fmt, "rne", "inf")
        try:
            codes = dot(self._a, self._b, engine=engine, c=self._addends[fmt], format_c=fmt, threads=1)
        except ValueError:
            return None
        return code_patterns(codes, self._interface)
