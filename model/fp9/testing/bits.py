"""Bit-by-bit comparison of codes, with an error message that names a likely cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import as_codes, decode_to
from fp9.formats import Format, format

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SHOWN = 5


@dataclass(frozen=True)
class Differences:
    """Differing codes of an actual array and an expected array."""

    format: Format
    actual: NDArray[Any]
    expected: NDArray[Any]
    whole: tuple[NDArray[Any], NDArray[Any]]  # complete actual and expected arrays

    @property
    def numbers(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return decode_to(self.actual, self.format, np.float64), decode_to(self.expected, self.format, np.float64)

    def all(self, holds: Callable[[Any, Any], Any]) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.all(holds(*self.numbers)))


def _is_one_step_toward_zero(actual: Any, expected: Any) -> Any:
    return np.abs(actual) < np.abs(expected)


def _neighbours(d: Differences) -> bool:
    return bool((np.abs(d.actual.astype(np.int64) - d.expected.astype(np.int64)) == 1).all())


def _is_transposed(d: Differences) -> bool:
    actual, expected = d.whole
    return actual.ndim >= 2 and actual.shape[-1] == actual.shape[-2] and bool((actual.mT == expected).all())


def _is_factor(actual: Any, expected: Any) -> Any:
    ratios = actual / expected
    finite = ratios[np.isfinite(ratios)]
    if finite.size < 2 or finite[0] == 1:
        return False
    return np.isfinite(ratios) & (ratios == finite[0]) & (np.frexp(np.abs(ratios))[0] == 0.5)


# The most specific cause comes first.
CAUSES: tuple[tuple[str, Callable[[Differences], bool]], ...] = (
    (
        "only the codes of NaN differ: compare numbers, or set the engine's `nan`",
        lambda d: d.all(lambda x, y: np.isnan(x) & np.isnan(y)),
    ),
    ("only the signs of zeros differ", lambda d: d.all(lambda x, y: (x == 0) & (y == 0))),
    ("the actual matrix is the transpose of the expected one", _is_transposed),
    (
        "subnormal numbers are flushed to zero",
        lambda d: d.all(lambda x, y: (x == 0) & (np.abs(y) < d.format.smallest_normal)),
    ),
    (
        "overflow saturates to the largest number, where infinity or NaN is expected",
        lambda d: d.all(lambda x, y: (np.abs(x) == d.format.max) & ~np.isfinite(y)),
    ),
    (
        "overflow gives infinity or NaN, where the largest number is expected",
        lambda d: d.all(lambda x, y: ~np.isfinite(x) & (np.abs(y) == d.format.max)),
    ),
    (
        "all numbers differ by the same power of two: a scale, or another exponent bias of the format",
        lambda d: d.all(_is_factor),
    ),
    (
        "the actual result rounds toward zero, or its accumulator cuts bits off",
        lambda d: _neighbours(d) and d.all(_is_one_step_toward_zero),
    ),
    (
        "all results are neighbours of the expected ones: another rounding, or another order of the additions",
        _neighbours,
    ),
)
_UNKNOWN = "another accumulator, order of additions, operand or scale; `fp9 identify` finds accumulators"


def assert_equal_bits(actual: ArrayLike, expected: ArrayLike, format: Format | str) -> None:
    """Raise AssertionError if two arrays of codes differ in any bit.

    +0 and -0 count as different. Two NaN values with different codes also count as different.

    The arrays must contain unsigned integers, or have a dtype with the format's bit layout. For example, float32 is the
    bit layout of `fp32`. The error message shows the first differences as numbers, and names a likely cause.

    >>> import numpy as np
    >>> assert_equal_bits(np.float32([1.0, 2.0]), np.float32([1.0, -2.0]), "fp32")
    Traceback (most recent call last):
    AssertionError: 1 of 2 codes of fp32 differ
      [1]: 0xc0000000 (-2.0) expected, 0x40000000 (2.0) given
      likely cause: another accumulator, order of additions, operand or scale; `fp9 identify` finds accumulators

    Raises ValueError if the shapes differ, and TypeError if an array does not contain codes of the format.
    """
    fmt = _format(format)
    got, wanted = (np.asarray(as_codes(given, fmt)) for given in (actual, expected))
    if got.shape != wanted.shape:
        raise ValueError(f"actual of shape {got.shape} given, and expected of {wanted.shape}; give equal shapes")
    differ = got != wanted
    if not differ.any():
        return
    places = np.argwhere(differ)
    differences = Differences(fmt, got[differ], wanted[differ], (got, wanted))
    lines = [f"{len(places)} of {got.size} codes of {fmt.name} differ"]
    for place in places[:SHOWN]:
        index = tuple(place)
        lines.append(
            f"  {[int(i) for i in index]}: {_shown(wanted[index], fmt)} expected, {_shown(got[index], fmt)} given"
        )
    if len(places) > SHOWN:
        lines.append(f"  and {len(places) - SHOWN} more")
    lines.append(f"  likely cause: {next((cause for cause, holds in CAUSES if holds(differences)), _UNKNOWN)}")
    raise AssertionError("\n".join(lines))


_format = format


def _shown(code: Any, fmt: Format) -> str:
    return f"{int(code):#0{2 + -(-fmt.bits // 4)}x} ({fmt.to_float(int(code))})"
