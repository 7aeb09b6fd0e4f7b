"""Operands of the dot engine made ready for the kernels: numbers, powers of two for alignment, scales."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import as_codes, decode_to
from fp9.engines import Engine, Scaling, alignment_exponent
from fp9.formats import Format, floor_log2

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SCALE_LIMIT = 127
"""Largest magnitude of a scale's exponent (that of an E8M0 scale)."""

NO_POWERS = np.zeros((1, 1))


@dataclass(frozen=True)
class Operand:
    """Rows of one operand: codes (rows, k) and what multiplies them, and what multiplies the sums of chunks (rows or 1,
    chunks or 1). `lowest` and `highest` bound the exponents of the bits of the multiplied numbers.
    """

    format: Format
    codes: NDArray[Any]
    factors: NDArray[np.float64] | None
    at_sums: NDArray[np.float64]
    lowest: int
    highest: int
    aligned: bool  # an engine with a window asks for the alignment powers

    def numbers(self, dtype: Any = np.float64) -> NDArray[Any]:
        """The numbers, (rows, k)."""
        return self._scaled(decode_to(self.codes, self.format, dtype))

    def columns(self, dtype: Any = np.float64) -> NDArray[Any]:
        """The numbers, (k, rows)."""
        return self._scaled(decode_to(self.codes.T, self.format, dtype), transposed=True)

    def alignment_powers(self) -> NDArray[np.float64]:
        """2^(alignment exponent) of the numbers, (rows, k); 0 of all that are not finite."""
        return self._scaled(power_table(self.format)[self.codes])

    def _scaled(self, numbers: NDArray[Any], transposed: bool = False) -> NDArray[Any]:
        if self.factors is None:
            return numbers
        factors = self.factors.astype(numbers.dtype)
        scaled: NDArray[Any] = numbers * (factors.T if transposed else factors)
        return scaled

    @functools.cached_property
    def values(self) -> NDArray[np.float64]:
        """The numbers, row by row in memory."""
        return np.ascontiguousarray(self.numbers())

    @functools.cached_property
    def powers(self) -> NDArray[np.float64]:
        """The alignment powers, row by row in memory; shape (1, 1) where no window asks for them."""
        return np.ascontiguousarray(self.alignment_powers()) if self.aligned else NO_POWERS

    @property
    def is_merged(self) -> bool:
        """Whether NaN and infinity are one code."""
        return self.format.nan_is_inf


def operand(
    codes: NDArray[Any], fmt: Format, engine: Engine, scale: NDArray[np.int64] | None, block: int | None
) -> Operand:
    """The operand of codes (rows, k) that are summed along k; `scale` (rows or 1, blocks) as `scale_rows` gives it."""
    factors, at_sums = None, np.ones((1, 1))
    lowest, highest = bit_range(fmt)
    if scale is not None and (engine.whole or engine.scaling is Scaling.PRODUCTS):
        factors = _spread(scale, block, codes.shape[1])
        lowest, highest = lowest + int(scale.min(initial=0)), highest + int(scale.max(initial=0))
    elif scale is not None:
        at_sums = _at_chunks(scale, engine, block, codes.shape[1])
    return Operand(fmt, codes, factors, at_sums, lowest, highest, engine.window is not None)


def some_rows(array: NDArray[Any], rows: slice) -> NDArray[Any]:
    """Some rows; all of them where there is one, which stands for all."""
    return array if array.shape[0] == 1 else array[rows]


@functools.lru_cache(maxsize=64)
def power_table(fmt: Format) -> NDArray[np.float64]:
    """2^(alignment exponent) of every code of a format of at most 16 bits; 0 for zeros, infinities and NaN."""
    if fmt.bits > 16:
        raise ValueError(f"{fmt.name} given as operand of an engine with a window; give a format of at most 16 bits")
    values = np.abs(fmt.table)
    finite = np.isfinite(values) & (values > 0)
    _, exponents = np.frexp(np.where(finite, values, 1.0))
    aligned = [alignment_exponent(fmt, e - 1) for e in exponents.tolist()]
    powers: NDArray[np.float64] = np.where(finite, np.ldexp(1.0, aligned), 0.0)
    return powers


@functools.lru_cache(maxsize=64)
def bit_range(fmt: Format) -> tuple[int, int]:
    """Exponents of the lowest and of the highest bit that a number of the format has."""
    lowest = fmt.quantum(floor_log2(fmt.value_of(fmt.smallest_code)))
    largest = fmt.max_magnitude
    if fmt.bits <= 16:  # a code that no cast produces may be larger: -128 of the integers
        largest = Fraction(float(np.abs(fmt.table[np.isfinite(fmt.table)]).max()))
    return lowest, floor_log2(largest)


def operand_codes(codes: ArrayLike, fmt: Format) -> NDArray[Any]:
    """Codes of an operand; ValueError for formats that are no operands."""
    if fmt.bits > 16:
        raise ValueError(f"{fmt.name} given as operand; give a format of at most 16 bits")
    return as_codes(codes, fmt)


# --- scales ---------------------------------------------------------------------------------------------------------


def scale_rows(
    name: str, scale: ArrayLike | None, shape: tuple[int, ...], depth: int, block: int | None
) -> NDArray[np.int64] | None:
    """Scale exponents of an operand whose rows have `shape`: (*shape, 1), or (*shape, blocks) with `block`.

    Raises ValueError for shapes and exponents that do not fit, TypeError for scales that are no integers.
    """
    if scale is None:
        return None
    array = np.asarray(scale)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} of {array.dtype.name} given; give exponents of two, as integers")
    if array.size and max(int(array.max()), -int(array.min())) > SCALE_LIMIT:
        raise ValueError(f"{name} outside -{SCALE_LIMIT}..{SCALE_LIMIT} given; scales are exponents of two")
    full = (*shape, -(-depth // block)) if block else shape
    if array.shape not in ((), full):
        raise ValueError(f"{name} of shape {array.shape} given; give one integer, or integers of shape {full}")
    exponents: NDArray[np.int64] = np.broadcast_to(array, full).astype(np.int64)
    return exponents if block else exponents[..., np.newaxis]


def check_block(engine: Engine, block: int | None) -> None:
    """Raise ValueError for a block length that the engine cannot scale."""
    if block is None:
        return
    if block < 1:
        raise ValueError(f"block of {block} given; give the number of products that share a scale, 1 or more")
    sums = engine.scaling is Scaling.SUMS and not engine.whole
    if sums and (engine.chunk is None or block % engine.chunk):
        raise ValueError(
            f"engine {engine.name} scales the sums of chunks; for scales of blocks of {block}, give it "
            f"chunk={block} or a divisor, as in '{engine.name.partition('(')[0]}(chunk={block})'"
        )


def _spread(scale: NDArray[np.int64], block: int | None, depth: int) -> NDArray[np.float64]:
    """Factors for every product, (rows, k) or (rows, 1)."""
    factors = np.ldexp(1.0, scale)
    return np.repeat(factors, block, axis=1)[:, :depth] if block else factors


def _at_chunks(scale: NDArray[np.int64], engine: Engine, block: int | None, depth: int) -> NDArray[np.float64]:
    """Factors for every chunk, (rows, chunks) or (rows, 1)."""
    factors = np.ldexp(1.0, scale)
    if not block:
        return factors
    assert engine.chunk is not None, "check_block lets blocks of sums pass only with chunks"
    return np.repeat(factors, block // engine.chunk, axis=1)[:, : -(-depth // engine.chunk)]
