"""Operand vectors of sums, and the results that accumulator models predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode_to, encode
from fp9.casts.random_bits import NO_RANDOM
from fp9.engines import Engine
from fp9.sums.general import GeneralSums
from fp9.sums.operands import interleaved, operand
from fp9.sums.products import dot
from fp9.sums.sides import Side, side
from fp9_compare.identify.fields import key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.formats import FixedFormat
    from fp9_compare.identify.interface import Interface

_NAN = np.uint64(0x7FF8 << 48)
_NEGATIVE = np.uint64(1 << 63)


@dataclass(frozen=True)
class Vectors:
    """Operands of n dot products: codes `a` and `b` (n, k), and addends `c` (n,)."""

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[np.float64]
    # What each dot product tests, such as "window" or "rounding".
    purposes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.c)

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Vectors:
        index = np.asarray(rows, dtype=np.intp)
        return Vectors(self.a[index], self.b[index], self.c[index], tuple(self.purposes[i] for i in index))

    def __add__(self, other: Vectors) -> Vectors:
        a, b, c = (np.concatenate(pair) for pair in ((self.a, other.a), (self.b, other.b), (self.c, other.c)))
        return Vectors(a, b, c, self.purposes + other.purposes)


def patterns(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return integer patterns with one pattern for all NaN, and different patterns for -0 and +0."""
    found: NDArray[np.uint64] = np.where(np.isnan(numbers), _NAN, numbers.view(np.uint64))
    return found


def code_patterns(codes: NDArray[Any], interface: Interface) -> NDArray[np.uint64]:
    """Return an integer pattern for each code in `codes`.

    If `interface.any_nan` is true, all NaN codes have the same pattern. Otherwise, different NaN codes have different
    patterns.
    """
    numbers = patterns(decode_to(codes, interface.output, np.float64))
    if interface.any_nan:
        return numbers
    return np.where(numbers == _NAN, _NAN | codes.astype(np.uint64), numbers)


def nan_codes(results: NDArray[np.uint64]) -> tuple[int, ...]:
    found = np.unique(results[(results >= _NAN) & (results < _NEGATIVE)] - _NAN)
    return tuple(code for code in found.tolist() if code)


class Predictions:
    """Results that accumulator models predict for given operand vectors."""

    def __init__(self, interface: Interface, vectors: Vectors) -> None:
        self._a, self._b = operand(vectors.a, interface.a), operand(vectors.b, interface.b)
        self._interface, self._c, self.vectors = interface, vectors.c, vectors
        self._addends: dict[FixedFormat, tuple[NDArray[Any], NDArray[np.float64]]] = {}
        # Operands, reordered once for each order of addition.
        self._sides: dict[tuple[object, ...], tuple[Side, Side]] = {}
        self._found: dict[tuple[object, ...], NDArray[np.uint64] | None] = {}

    def of(self, engine: Engine) -> NDArray[np.uint64] | None:
        """Return the predicted patterns (n,), or None if the model does not support the operand formats."""
        known = key(engine)
        if known not in self._found:
            self._found[known] = self.once(engine)
        return self._found[known]

    def once(self, engine: Engine) -> NDArray[np.uint64] | None:
        """Return the predicted patterns (n,), or None, without storing the patterns for later calls."""
        try:
            codes = self._sums(engine) if engine.step.group is None else self._dot(engine)
        except ValueError:
            return None
        return code_patterns(codes, self._interface)

    def reach(self) -> NDArray[np.intp]:
        """Return the number of products in each sum up to the last nonzero product, shape (n,)."""
        some = (self._a.array("float64") != 0.0) & (self._b.array("float64") != 0.0)
        places = np.arange(1, some.shape[1] + 1)
        found: NDArray[np.intp] = (some * places).max(axis=1)
        return found

    def _addend(self, fmt: FixedFormat) -> tuple[NDArray[Any], NDArray[np.float64]]:
        if fmt not in self._addends:
            codes = encode(self._c, fmt, "rne", "inf")
            self._addends[fmt] = codes, decode_to(codes, fmt, np.float64)
        return self._addends[fmt]

    def _dot(self, engine: Engine) -> NDArray[Any]:
        fmt = engine.addend_format
        return dot(self._a, self._b, engine=engine, c=self._addend(fmt)[0], format_c=fmt, threads=1)

    def _sums(self, engine: Engine) -> NDArray[Any]:
        # As `fp9.dot`, without checks of the arguments.
        a, b = self._ready(engine)
        _, start = self._addend(engine.addend_format)
        codes = np.empty(len(start), dtype=engine.output.dtype)
        rows, flags = slice(None), np.empty(len(start), dtype=np.uint8)
        GeneralSums(engine, a, b, engine.chunk.length is not None).run(
            rows, rows, start, _UNSCALED, NO_RANDOM, codes, flags
        )
        return codes

    def _ready(self, engine: Engine) -> tuple[Side, Side]:
        order = (engine.step.products, engine.chunk.length, engine.chunk.interleave) if engine.chunk.interleave else ()
        kind = (engine.window.width is None, *order)
        if kind not in self._sides:
            a, b = (interleaved(x, engine) for x in (self._a, self._b))
            made = [side(x, lambda array: array, x.shape[-1], engine, None, None) for x in (a, b)]
            self._sides[kind] = made[0], made[1]
        return self._sides[kind]


_UNSCALED = np.ones((1, 1))
