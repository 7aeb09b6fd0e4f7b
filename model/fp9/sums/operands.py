"""Operands of dot products and matrix products."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.arrays import as_codes
from fp9.casts.decoding import look_up
from fp9.casts.sources import read_only
from fp9.casts.tables import decode_table
from fp9.engines import NO_EXPONENT, Engine, alignment_exponent, check_exponents
from fp9.formats import TABLE_BITS, Format, floor_log2, format
from fp9.formats.dtypes import named_or_carried
from fp9.formats.host import BINARY64
from fp9.system.scratch import scratch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Span(NamedTuple):
    """Format of an operand, and limits of the operand's scaled numbers."""

    format: Format
    lowest: int  # exponent of the lowest bit
    highest: int  # exponent of the highest bit
    precision: int  # number of significand bits

    def coarse(self, outer: Span) -> Span:
        """Return a range with ends at multiples of 8, inside the range `outer`."""
        lowest, highest = self.lowest - self.lowest % _COARSE, self.highest + -self.highest % _COARSE
        return self._replace(lowest=max(lowest, outer.lowest), highest=min(highest, outer.highest))

    def scaled(self, low: int, high: int, bits: int = 0) -> Span:
        # Scales change the exponents by `low` to `high`, and add up to `bits` bits to the significands.
        return Span(self.format, self.lowest + low, self.highest + high, self.precision + bits)


_NARROW, _COARSE = 8, 8
_NOWHERE = -np.iinfo(np.int16).max


class _Seen(NamedTuple):
    """Properties of the codes that occur in an operand."""

    is_finite: bool
    lowest: int  # exponent of the lowest bit
    highest: int  # exponent of the highest bit


class _Tables:
    """Properties of an operand format, and look-up tables by code."""

    def __init__(self, fmt: Format) -> None:
        check_exponents("", fmt)
        lowest, highest = bit_range(fmt)
        self.span = Span(fmt, lowest, highest, fmt.precision)
        self.finite = finite_table(fmt)
        self.is_finite = bool(self.finite.all())
        self.lowest = lowest_bit_table(fmt).astype(np.int16)
        self.highest = np.where(power_table(fmt) > 0, np.frexp(fmt.table)[1] - 1, _NOWHERE).astype(np.int16)
        self._format = fmt
        self._arrays: dict[str, NDArray[Any]] = {}

    def look_up(self, what: str, flat: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if (table := self._arrays.get(what)) is None:
            table = self._arrays[what] = _TABLES[what](self._format)
        found = scratch(flat.shape, table.dtype)
        look_up(flat, table, found)
        found.flags.writeable = False
        return found.reshape(shape)

    def seen(self, flat: NDArray[Any]) -> _Seen:
        is_finite, lowest, highest = _look_ups().survey(flat, self.finite, self.lowest, self.highest)
        some = highest > _NOWHERE
        return _Seen(is_finite, lowest if some else self.span.lowest, highest if some else self.span.lowest)


@functools.lru_cache(maxsize=64)
def tables_of(fmt: Format) -> _Tables:
    return _Tables(fmt)


class _Kept:
    """Codes, and cached arrays that are computed from the codes."""

    def __init__(self, codes: NDArray[Any], fmt: Format) -> None:
        self.codes, self.format, self.tables = codes, fmt, tables_of(fmt)
        self._flat: dict[bool, NDArray[Any]] = {}
        self._made: dict[tuple[str, bool], NDArray[Any]] = {}
        self._making = threading.Lock()

    def _in_order(self, swapped: bool) -> NDArray[Any]:
        if (found := self._flat.get(swapped)) is None:
            codes = self.codes.swapaxes(-1, -2) if swapped else self.codes
            (found,) = read_only(np.ascontiguousarray(codes).reshape(-1))
            self._flat[swapped] = found
        return found

    @functools.cached_property
    def seen(self) -> _Seen:
        return self.tables.seen(self._in_order(False))

    @functools.cached_property
    def met_span(self) -> Span:
        return self.tables.span._replace(lowest=self.seen.lowest, highest=self.seen.highest)

    def array(self, what: str, swapped: bool) -> NDArray[Any]:
        if what == "lowest bits" and self.tables.span.lowest < NO_EXPONENT <= self.seen.lowest:
            what = "lowest bits as bytes"
        with self._making:
            if (made := self._made.get((what, swapped))) is None:
                shape = self.codes.shape
                shape = (*shape[:-2], shape[-1], shape[-2]) if swapped else shape
                made = self._made[what, swapped] = self.tables.look_up(what, self._in_order(swapped), shape)
            return made


class Operand:
    """Codes of a format, which the function `operand` has prepared for use in several products.

    An operand can be the left or the right factor of a product, and can be transposed. The arrays that kernels need are
    computed on first use, and are cached as long as the operand or its transpose exists. The cached arrays take 4 bytes
    (float32) or 8 bytes (float64) per code. If the accumulator has an alignment window, the cached arrays take 8 more
    bytes per code. An operand that is used both directly and transposed takes twice the memory.
    """

    __slots__ = ("_kept", "_shape", "_swapped")

    def __init__(self, kept: _Kept, swapped: bool = False) -> None:
        shape = kept.codes.shape
        self._kept, self._swapped = kept, swapped
        self._shape = (*shape[:-2], shape[-1], shape[-2]) if swapped else shape

    @property
    def format(self) -> Format:
        """Return the number format of the operand's codes."""
        return self._kept.format

    @property
    def span(self) -> Span:
        """Return the exponent range of all numbers in the operand's format."""
        return self._kept.tables.span

    @property
    def met_span(self) -> Span:
        """Return the exponent range of the numbers that occur in the operand."""
        return self._kept.met_span

    @property
    def likely_span(self) -> Span:
        """Return the exponent range of an 8-bit format, or about the range of the numbers that occur in the operand.

        Most operands of a wider format use few of its exponents. Coarse ranges of different operands are often equal,
        so that a strategy for the range is chosen once.
        """
        return self.span if self.format.bits <= _NARROW else self.met_span.coarse(self.span)

    @property
    def is_finite(self) -> bool:
        """Return whether no code of the operand is an infinity or NaN."""
        return self._kept.tables.is_finite or self._kept.seen.is_finite

    @property
    def codes(self) -> NDArray[Any]:
        """Return the operand's codes as a read-only array."""
        codes = self._kept.codes.swapaxes(-1, -2) if self._swapped else self._kept.codes.view()
        codes.flags.writeable = False
        return codes

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the array of codes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Return the number of axes of the array of codes."""
        return len(self._shape)

    @property
    def mT(self) -> Operand:
        """Return the operand with its last two axes exchanged. Both operands share all cached arrays.

        Raises ValueError for a vector.
        """
        if len(self._shape) < 2:
            raise ValueError(f"an operand of shape {self.shape} has no transposed one; give a matrix")
        return Operand(self._kept, not self._swapped)

    @property
    def T(self) -> Operand:
        """Return the transpose of a matrix.

        Raises ValueError if the operand has more than two axes. To transpose each matrix of a stack, use `mT`.
        """
        if self.ndim > 2:
            raise ValueError(f"an operand of shape {self.shape} has no T; take mT, which transposes each matrix")
        return self.mT

    def array(self, what: str) -> NDArray[Any]:
        """Return a contiguous array for the kernels, in the shape of the codes.

        Callers must not change the array. `what` is one of these:

        - "float32" or "float64": the numbers.
        - "integers": each number divided by the weight of the format's lowest bit. The format must have no infinity or
          NaN.
        - "powers": the powers of two that determine alignment, with 0 for zeros, infinities and NaN.
        - "exponents": the exponents for alignment, as bytes.
        - "lowest bits": the exponent of each number's lowest 1 bit, as int8, or as int16 if the exponent of a number is
          lower than a byte can be.
        - "finite": which codes are finite.
        """
        return self._kept.array(what, self._swapped)

    def __repr__(self) -> str:
        return f"Operand({self.format.name}, shape={self.shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        return operand, (np.array(self.codes), self.format)


def operand(codes: ArrayLike, fmt: Format | str | None = None) -> Operand:
    """Prepare codes for several products. `dot` and `matmul` accept the returned operand in place of codes.

    `codes` holds unsigned integers, which are codes of a format of at most 19 bits. The function copies `codes`. `fmt`
    is not needed for arrays that know their format (`fp9.Array`, ml_dtypes, en_dtypes, torch).

    >>> import fp9
    >>> w = operand(fp9.encode([[1.0, 2.0], [3.0, 4.0]], "e4m3"), "e4m3")
    >>> fp9.decode(fp9.matmul(w, w.T, engine="hopper"), "fp32").tolist()
    [[5.0, 11.0], [11.0, 25.0]]

    Raises TypeError for codes that are not integers. Raises ValueError for codes outside the format's range, and for
    formats of more than 19 bits.
    """
    found = named_or_carried(codes, fmt)
    return Operand(_Kept(operand_codes(codes, found).copy(), found))


def some_of_operand(x: Operand, view: Callable[[NDArray[Any]], NDArray[Any]], rows: slice) -> Operand:
    codes = view(x.codes)[rows]
    # The returned operand is stored in row-major or column-major order, as `x` is.
    return Operand(_Kept(codes.mT if x._swapped else codes, x.format), x._swapped)


def interleaved(x: Operand, engine: Engine, axis: int = -1) -> Operand:
    """Return an operand with the elements of one axis in the order in which the accumulator adds them."""
    if engine.chunk.interleave is None or not x.codes.size:
        return x
    assert engine.chunk.length is not None, "an engine interleaves the steps of a chunk"
    codes, shape = x.codes, list(x.shape)
    shape[axis] = -shape[axis] % engine.chunk.length
    if shape[axis]:
        codes = np.concatenate([codes, np.full(shape, filler_of(x.format), dtype=codes.dtype)], axis=axis)
    return Operand(_Kept(codes.take(engine.order(codes.shape[axis]), axis=axis), x.format))


def filler_of(fmt: Format) -> int:
    """Return the code that pads a chunk."""
    return fmt.code_of(Fraction(0)) if fmt.has_zero else fmt.smallest_code


def check_filled(a: Format, b: Format, depth: int, engine: Engine) -> None:
    if (
        engine.chunk.interleave is not None
        and engine.chunk.length
        and depth % engine.chunk.length
        and not (a.has_zero or b.has_zero)
    ):
        raise ValueError(
            f"{depth} products of {a.name} x {b.name} given, and neither has a zero that fills the chunks of "
            f"{engine.chunk.length} that engine {engine.name} interleaves; give a multiple of {engine.chunk.length}"
        )


def as_operand(side: str, given: ArrayLike | Operand, fmt: Format | str | None) -> Operand:
    if isinstance(given, Operand):
        if fmt is not None and format(fmt) != given.format:
            raise ValueError(
                f"format_{side} {format(fmt).name} given with {side}, an operand of {given.format.name}; leave it out"
            )
        return given
    found = named_or_carried(given, fmt, f"format_{side}")
    return Operand(_Kept(operand_codes(given, found), found))


def operand_codes(codes: ArrayLike, fmt: Format) -> NDArray[Any]:
    if fmt.bits > TABLE_BITS:
        raise ValueError(f"{fmt.name} given as operand; give a format of at most {TABLE_BITS} bits")
    return as_codes(codes, fmt)


# --- tables of formats -----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def power_table(fmt: Format) -> NDArray[np.float64]:
    """Return each code's power of two for alignment, and 0 for zeros, infinities and NaN."""
    values = np.abs(fmt.table)
    finite = np.isfinite(values) & (values > 0)
    _, exponents = np.frexp(np.where(finite, values, 1.0))
    distinct, which = np.unique(exponents, return_inverse=True)
    aligned = np.ldexp(1.0, [alignment_exponent(fmt, e - 1) for e in distinct.tolist()])
    powers: NDArray[np.float64] = np.where(finite, aligned[which], 0.0)
    return powers


@functools.lru_cache(maxsize=64)
def exponent_table(fmt: Format) -> NDArray[np.int8]:
    """Return each code's exponent for alignment, and `NO_EXPONENT` for zeros, infinities and NaN."""
    powers = power_table(fmt)
    exponents = np.frexp(powers)[1] - 1
    return np.where(powers > 0, exponents, NO_EXPONENT).astype(np.int8)


def lowest_bits(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the exponent of the lowest 1 bit of finite nonzero numbers."""
    significands, exponents = np.frexp(numbers)
    integers = np.abs(np.ldexp(significands, BINARY64.precision)).astype(np.int64)
    return np.frexp((integers & -integers).astype(np.float64))[1] - 1 + exponents - BINARY64.precision


@functools.lru_cache(maxsize=64)
def lowest_bit_table(fmt: Format) -> NDArray[np.int8] | NDArray[np.int16]:
    """Return the exponent of each code's lowest 1 bit, and 127 for zeros, infinities and NaN."""
    some = power_table(fmt) > 0
    lowest = np.where(some, lowest_bits(np.where(some, fmt.table, 1.0)), -NO_EXPONENT - 1)
    return lowest.astype(np.int8) if lowest.min() >= NO_EXPONENT else lowest.astype(np.int16)


@functools.lru_cache(maxsize=64)
def finite_table(fmt: Format) -> NDArray[np.bool_]:
    finite: NDArray[np.bool_] = np.isfinite(fmt.table)
    return finite


@functools.lru_cache(maxsize=64)
def bit_range(fmt: Format) -> tuple[int, int]:
    """Return the exponents of the lowest and the highest bit in all numbers of the format."""
    lowest = fmt.quantum(floor_log2(fmt.value_of(fmt.smallest_code)))
    largest = fmt.max_magnitude
    if fmt.bits <= TABLE_BITS:  # a code that no cast produces may be larger, such as -128 in an integer format
        largest = Fraction(float(np.abs(fmt.table[np.isfinite(fmt.table)]).max()))
    return lowest, floor_log2(largest)


@functools.lru_cache(maxsize=64)
def integer_table(fmt: Format) -> NDArray[np.int32]:
    """Return each code's number in units of the format's lowest bit. All numbers must be finite."""
    lowest, _ = bit_range(fmt)
    integers: NDArray[np.int32] = np.ldexp(fmt.table, -lowest).astype(np.int32)
    return integers


@functools.cache
def _look_ups() -> Any:
    from fp9.kernels import round32  # slow to load

    return round32


_FLOAT32 = np.dtype(np.float32)
_TABLES: dict[str, Callable[[Format], NDArray[Any]]] = {
    "float32": lambda fmt: decode_table(fmt, _FLOAT32),
    "float64": decode_table,
    "integers": integer_table,
    "exponents": exponent_table,
    "lowest bits": lowest_bit_table,
    "lowest bits as bytes": lambda fmt: lowest_bit_table(fmt).astype(np.int8),
    "powers": power_table,
    "finite": finite_table,
}
