"""Scales of operands, given as exponents of powers of two, or as codes of a scale format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.arrays import as_codes, decode_to
from fp9.engines import NO_EXPONENT
from fp9.formats import Format
from fp9.formats.host import BINARY64
from fp9.sums.operands import Span, bit_range, lowest_bits, power_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SCALE_LIMIT = 127
"""Largest magnitude of a scale exponent, as in E8M0."""


class Scales(NamedTuple):
    """Scales of an operand, and for each scale the power of two that determines alignment."""

    factors: NDArray[np.float64]  # shape (..., rows, blocks), or (..., rows, 1) for one scale per row
    powers: NDArray[np.float64]  # same shape
    format: Format | None  # None if all factors are powers of two, and `powers` is `factors`

    def each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Scales:
        factors = change(self.factors)
        return Scales(factors, factors if self.powers is self.factors else change(self.powers), self.format)

    @property
    def is_finite(self) -> bool:
        return self.format is None or bool(np.isfinite(self.factors).all())

    def array(self, what: str) -> NDArray[Any]:
        """Return what the scales change of the array `what` of an operand: factors, powers of two, or exponents."""
        if what not in EXPONENTS:
            return self.powers if what == "powers" else self.factors
        some = self.powers > 0
        if what == "exponents" or self.format is None or self.format.precision == 1:
            exponents = np.frexp(self.powers)[1] - 1  # a power of two has a single bit
        else:
            exponents = lowest_bits(np.where(some, self.factors, 1.0))
        return np.where(some, exponents, EXPONENTS[what]).astype(np.int16)

    def widened(self, span: Span) -> Span:
        if self.format is not None and self.format.precision > 1:
            lowest, highest = bit_range(self.format)
            return span.scaled(lowest, highest + 1, self.format.precision)
        # The powers of zeros and NaN are 0, because zeros and NaN have no bits.
        some = self.powers > 0
        low, high = self.powers.min(initial=np.inf, where=some), self.powers.max(initial=0.0)
        if not high:
            return span
        return span.scaled(int(np.frexp(low)[1]) - 1, int(np.frexp(high)[1]) - 1)


EXPONENTS = {"exponents": NO_EXPONENT, "lowest bits": -NO_EXPONENT - 1}
"""Arrays of exponents, with the mark of a number without 1 bits."""


def raised(exponents: NDArray[Any], by: NDArray[np.int16], mark: int, span: Span) -> NDArray[Any]:
    """Add the exponents of scales to exponents of numbers, both with a mark for numbers without 1 bits.

    The result has the type int8, or int16 if the exponents in `span` need it.
    """
    dtype = np.int8 if max(abs(span.lowest), abs(span.highest)) < -NO_EXPONENT - 1 else np.int16
    return np.where((exponents == mark) | (by == mark), mark, exponents + by).astype(dtype)


def scaled(numbers: NDArray[Any], factors: NDArray[np.float64]) -> NDArray[Any]:
    some_zero = not factors.all()
    with np.errstate(invalid="ignore"):  # an infinity times a scale of zero
        products: NDArray[Any] = numbers * factors.astype(numbers.dtype)
    if some_zero and products.dtype == np.float64:
        products.view(np.int64)[np.isinf(numbers) & (factors == 0)] = BINARY64.invalid_nan
    return products


def scale_rows(
    name: str,
    scale: ArrayLike | None,
    fmt: Format | None,
    shape: tuple[int, ...],
    depth: int,
    block: int | None,
    *,
    batch: tuple[int, ...] = (),
    blocks_first: bool = False,
) -> Scales | None:
    """Return scales in the shape (*batch, *shape, n), or None if no scales are given.

    n is the number of blocks in a vector of `depth` elements, or 1 if `block` is None.
    """
    if scale is None:
        return None
    array = _exponents(name, scale) if fmt is None else as_codes(scale, fmt)
    blocks = (-(-depth // block),) if block else ()
    full = (*blocks, *shape) if blocks_first else (*shape, *blocks)
    lead = array.shape[: array.ndim - len(full)]
    if array.shape not in ((), (*lead, *full)) or not broadcasts(lead, batch):
        given = f"{name} of shape {array.shape} given; give one integer, or integers of shape {full}"
        raise ValueError(given + (f" with leading axes that broadcast to {batch}" if batch else ""))

    def spread(one: NDArray[Any]) -> NDArray[Any]:
        every = np.broadcast_to(one, (*batch, *full))
        if not block:
            return every[..., np.newaxis]
        return every.swapaxes(-1, -2) if blocks_first else every

    return _scales(array, fmt).each(spread)


def _exponents(name: str, scale: ArrayLike) -> NDArray[Any]:
    array = np.asarray(scale)
    if array.dtype.kind == "u":
        raise TypeError(
            f"{name} of {array.dtype.name} given, the type of codes; give signed exponents of two, or the codes' "
            "format as scale_format, such as e8m0"
        )
    if array.dtype.kind != "i":
        raise TypeError(f"{name} of {array.dtype.name} given; give exponents of two, as integers")
    if array.size and max(int(array.max()), -int(array.min())) > SCALE_LIMIT:
        raise ValueError(f"{name} outside -{SCALE_LIMIT}..{SCALE_LIMIT} given; scales are exponents of two")
    return array


def _scales(array: NDArray[Any], fmt: Format | None) -> Scales:
    if fmt is None:
        factors = np.asarray(np.ldexp(1.0, array.astype(np.int64)))
        return Scales(factors, factors, None)
    return Scales(np.asarray(decode_to(array, fmt, np.dtype(np.float64))), np.asarray(power_table(fmt)[array]), fmt)


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(
        given in (1, wanted) for given, wanted in zip(reversed(shape), reversed(to), strict=False)
    )
