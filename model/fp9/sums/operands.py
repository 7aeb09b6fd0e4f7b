"""Operands of products: codes of a format, and what kernels read of them, each array made once."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.arrays import as_codes
from fp9.casts.sources import read_only
from fp9.casts.tables import decode_table
from fp9.engines import NO_EXPONENT, Engine, alignment_exponent, check_exponents
from fp9.formats import Format, floor_log2, format
from fp9.formats.dtypes import named_or_carried
from fp9.formats.host import BINARY64
from fp9.system.scratch import scratch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Span(NamedTuple):
    """A format, bounds of the exponents of the bits of its numbers after scaling, and how many bits these have."""

    format: Format
    lowest: int
    highest: int
    precision: int

    def scaled(self, low: int, high: int, bits: int = 0) -> Span:
        """The same of numbers times factors whose product has bits `low` to `high` higher, and so many bits more."""
        return Span(self.format, self.lowest + low, self.highest + high, self.precision + bits)


class _Kept:
    """Codes, and the arrays made of them: their own order of axes, or with the last two exchanged."""

    def __init__(self, codes: NDArray[Any], fmt: Format) -> None:
        self.codes, self.format = codes, fmt
        lowest, highest = bit_range(fmt)
        self.span = Span(fmt, lowest, highest, fmt.precision)
        self._made: dict[tuple[str, bool], NDArray[Any]] = {}
        self._making = threading.Lock()

    @functools.cached_property
    def met(self) -> NDArray[np.bool_]:
        """Which codes of the format occur."""
        met = np.zeros(self.format.table.size, dtype=np.bool_)
        _look_ups().note(*read_only(np.ascontiguousarray(self.codes).reshape(-1)), met)
        return met

    @functools.cached_property
    def met_span(self) -> Span:
        """The span of the numbers among the codes."""
        numbers = np.abs(self.format.table[self.met])
        numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
        if not numbers.size:
            return self.span._replace(highest=self.span.lowest)
        return self.span._replace(lowest=int(lowest_bits(numbers).min()), highest=int(np.frexp(numbers.max())[1] - 1))

    def array(self, what: str, swapped: bool) -> NDArray[Any]:
        """An array of `_MADE`, contiguous in memory."""
        with self._making:
            if (what, swapped) not in self._made:
                codes = self.codes.swapaxes(-1, -2) if swapped else self.codes
                self._made[what, swapped] = _MADE[what](np.ascontiguousarray(codes), self.format)
            return self._made[what, swapped]


class Operand:
    """Codes of a format that several products read, as left or right factor, transposed or not (`operand` makes it).

    What a product needs of them, their numbers and the powers of two that align them, is made when an engine first asks
    and kept as long as the operand or a transposed one lives: 4 bytes a code in float32, 8 in float64, 8 more for
    engines with a window, for each order of the axes that was asked for.
    """

    __slots__ = ("_kept", "_swapped")

    def __init__(self, kept: _Kept, swapped: bool = False) -> None:
        self._kept, self._swapped = kept, swapped

    @property
    def format(self) -> Format:
        """The format of the codes."""
        return self._kept.format

    @property
    def span(self) -> Span:
        """The format with the exponents of its numbers' bits."""
        return self._kept.span

    @property
    def met_span(self) -> Span:
        """The same of the numbers that occur."""
        return self._kept.met_span

    @property
    def is_finite(self) -> bool:
        """Whether no code stands for an infinity or NaN."""
        every = finite_table(self.format)
        return bool(every.all() or every[self._kept.met].all())

    @property
    def codes(self) -> NDArray[Any]:
        """The codes, read-only."""
        codes = self._kept.codes.swapaxes(-1, -2) if self._swapped else self._kept.codes.view()
        codes.flags.writeable = False
        return codes

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the codes."""
        shape = self._kept.codes.shape
        return (*shape[:-2], shape[-1], shape[-2]) if self._swapped else shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._kept.codes.ndim

    @property
    def mT(self) -> Operand:
        """The same matrices transposed: the last two axes exchanged, what was made shared; ValueError for vectors."""
        if self.ndim < 2:
            raise ValueError(f"an operand of shape {self.shape} has no transposed one; give a matrix")
        return Operand(self._kept, not self._swapped)

    @property
    def T(self) -> Operand:
        """A matrix transposed; ValueError for more axes than two, whose `mT` transposes each matrix."""
        if self.ndim > 2:
            raise ValueError(f"an operand of shape {self.shape} has no T; take mT, which transposes each matrix")
        return self.mT

    def array(self, what: str) -> NDArray[Any]:
        """What kernels read: "float32" or "float64" numbers, "integers" in units of the lowest bit (of formats of
        numbers alone), "powers" of two for alignment (0 of all that are not finite), as bytes their "exponents" or
        those of their "lowest bits", or which are "finite"; shape of the codes, contiguous, not to be written to.
        """
        return self._kept.array(what, self._swapped)

    def __repr__(self) -> str:
        return f"Operand({self.format.name}, shape={self.shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        return operand, (np.array(self.codes), self.format)


def operand(codes: ArrayLike, fmt: Format | str | None = None) -> Operand:
    """Codes made ready for several products: `dot` and `matmul` take it in place of codes, and need no format with it.

    `codes`: unsigned integers of a format of at most 16 bits, of any shape that a product takes; they are copied.
    `fmt` is not needed with arrays that know their format (`fp9.Array`, ml_dtypes, en_dtypes, torch).

    >>> import fp9
    >>> w = operand(fp9.encode([[1.0, 2.0], [3.0, 4.0]], "e4m3"), "e4m3")
    >>> fp9.decode(fp9.matmul(w, w.T, engine="hopper"), "fp32").tolist()
    [[5.0, 11.0], [11.0, 25.0]]

    Raises TypeError for codes that are no integers, ValueError for codes that the format does not have and for wide
    formats.
    """
    found = named_or_carried(codes, fmt)
    return Operand(_Kept(operand_codes(codes, found).copy(), found))


def interleaved(x: Operand, engine: Engine, axis: int = -1) -> Operand:
    """An operand along whose axis elements stand in the order in which the engine's steps take them; the operand itself
    where steps take them one after the other.

    Those that the last chunk lacks are +0, or the smallest number of a format without a zero: the other factor is +0
    (`check_filled`), and so is the product.
    """
    if engine.interleave is None or not x.codes.size:
        return x
    assert engine.chunk is not None, "an engine interleaves the steps of a chunk"
    codes, shape = x.codes, list(x.shape)
    shape[axis] = -shape[axis] % engine.chunk
    if shape[axis]:
        filler = x.format.code_of(Fraction(0)) if x.format.has_zero else x.format.smallest_code
        codes = np.concatenate([codes, np.full(shape, filler, dtype=codes.dtype)], axis=axis)
    return Operand(_Kept(codes.take(engine.order(codes.shape[axis]), axis=axis), x.format))


def check_filled(a: Format, b: Format, depth: int, engine: Engine) -> None:
    """Raise ValueError where the last chunk lacks elements of interleaved steps, and neither format has a zero."""
    if engine.interleave is not None and engine.chunk and depth % engine.chunk and not (a.has_zero or b.has_zero):
        raise ValueError(
            f"{depth} products of {a.name} x {b.name} given, and neither has a zero that fills the chunks of "
            f"{engine.chunk} that engine {engine.name} interleaves; give a multiple of {engine.chunk}"
        )


def as_operand(side: str, given: ArrayLike | Operand, fmt: Format | str | None) -> Operand:
    """An operand as it is, or one of codes that are not copied; `side`, a or b, is named in errors.

    Raises TypeError for codes without a format, ValueError for an operand of another format than the one named.
    """
    if isinstance(given, Operand):
        if fmt is not None and format(fmt) != given.format:
            raise ValueError(
                f"format_{side} {format(fmt).name} given with {side}, an operand of {given.format.name}; leave it out"
            )
        return given
    found = named_or_carried(given, fmt, f"format_{side}")
    return Operand(_Kept(operand_codes(given, found), found))


def operand_codes(codes: ArrayLike, fmt: Format) -> NDArray[Any]:
    """Codes of an operand; ValueError for formats that are no operands."""
    if fmt.bits > 16:
        raise ValueError(f"{fmt.name} given as operand; give a format of at most 16 bits")
    check_exponents("", fmt)
    return as_codes(codes, fmt)


# --- what formats say ------------------------------------------------------------------------------------------------


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
def exponent_table(fmt: Format) -> NDArray[np.int8]:
    """Alignment exponents of a format whose exponents are bytes; NO_EXPONENT for zeros, infinities and NaN."""
    powers = power_table(fmt)
    exponents = np.frexp(powers)[1] - 1
    return np.where(powers > 0, exponents, NO_EXPONENT).astype(np.int8)


def lowest_bits(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponents of the lowest bits of finite numbers but 0."""
    significands, exponents = np.frexp(numbers)
    integers = np.abs(np.ldexp(significands, BINARY64.precision)).astype(np.int64)
    return np.frexp((integers & -integers).astype(np.float64))[1] - 1 + exponents - BINARY64.precision


@functools.lru_cache(maxsize=64)
def lowest_bit_table(fmt: Format) -> NDArray[np.int8]:
    """Exponents of the lowest bits of numbers of a format whose exponents are bytes; above all others for the rest."""
    some = power_table(fmt) > 0
    return np.where(some, lowest_bits(np.where(some, fmt.table, 1.0)), -NO_EXPONENT - 1).astype(np.int8)


@functools.lru_cache(maxsize=64)
def finite_table(fmt: Format) -> NDArray[np.bool_]:
    """Which codes of a format of at most 16 bits are numbers."""
    finite: NDArray[np.bool_] = np.isfinite(fmt.table)
    return finite


@functools.lru_cache(maxsize=64)
def bit_range(fmt: Format) -> tuple[int, int]:
    """Exponents of the lowest and of the highest bit that a number of the format has."""
    lowest = fmt.quantum(floor_log2(fmt.value_of(fmt.smallest_code)))
    largest = fmt.max_magnitude
    if fmt.bits <= 16:  # a code that no cast produces may be larger: -128 of the integers
        largest = Fraction(float(np.abs(fmt.table[np.isfinite(fmt.table)]).max()))
    return lowest, floor_log2(largest)


@functools.lru_cache(maxsize=64)
def integer_table(fmt: Format) -> NDArray[np.int32]:
    """The numbers of a narrow format without infinities and NaN, in units of its lowest bit."""
    lowest, _ = bit_range(fmt)
    integers: NDArray[np.int32] = np.ldexp(fmt.table, -lowest).astype(np.int32)
    return integers


@functools.cache
def _look_ups() -> Any:
    from fp9.kernels import round32  # slow to load

    return round32


def _looked_up(codes: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """A table's entries for contiguous codes."""
    found = scratch(codes.shape, table.dtype)
    _look_ups().look_up(*read_only(codes.reshape(-1)), table, found.reshape(-1))
    return found


_FLOAT32 = np.dtype(np.float32)
_MADE: dict[str, Callable[[NDArray[Any], Format], NDArray[Any]]] = {
    "float32": lambda codes, fmt: _looked_up(codes, decode_table(fmt, _FLOAT32)),
    "float64": lambda codes, fmt: _looked_up(codes, decode_table(fmt)),
    "integers": lambda codes, fmt: _looked_up(codes, integer_table(fmt)),
    "exponents": lambda codes, fmt: _looked_up(codes, exponent_table(fmt)),
    "lowest bits": lambda codes, fmt: _looked_up(codes, lowest_bit_table(fmt)),
    "powers": lambda codes, fmt: _looked_up(codes, power_table(fmt)),
    "finite": lambda codes, fmt: _looked_up(codes, finite_table(fmt)),
}
