"""Abstract base class of all number formats."""

from __future__ import annotations

import abc
import functools
import math
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats.rounding import Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray


TABLE_BITS = 19
"""Width in bits of the widest format whose numbers are stored in a look-up table. This is the width of TF32."""


class Kind(Enum):
    """Classes of codes: zero, finite number, infinity and NaN."""

    ZERO = "zero"
    FINITE = "finite"
    INF = "inf"
    NAN = "nan"


class Format(abc.ABC):
    """Abstract base class of number formats. A number format defines the value of each code of `bits` bits."""

    name: str
    default_rounding: Rounding
    source: str

    def __hash__(self) -> int:
        # A hash of all fields would make cache look-ups slow.
        return hash(self.name)

    # --- what a code means -------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def bits(self) -> int:
        """Return the width of a code in bits."""

    @abc.abstractmethod
    def kind_of(self, code: int) -> Kind:
        """Return the kind of a code."""

    @abc.abstractmethod
    def value_of(self, code: int) -> Fraction:
        """Return the exact value of a code that represents zero or another finite number."""

    @abc.abstractmethod
    def is_negative(self, code: int) -> bool:
        """Return whether a code is negative.

        In a format without a signed zero, zero and NaN are not negative.
        """

    # --- how the numbers are spaced ------------------------------------------------------------------------------

    @abc.abstractmethod
    def quantum(self, exponent: int) -> int:
        """Return log2 of the ulp of magnitudes in [2^exponent, 2^(exponent+1)), for any exponent.

        For magnitudes above the largest number, the function assumes an unbounded exponent range, because overflow is
        detected after rounding. For magnitudes below the smallest number, the function returns the ulp of the lowest
        binade.
        """

    @property
    def can_underflow(self) -> bool:
        """Return whether small results lose relative precision. Return False for fixed-point formats."""
        return True

    @property
    @abc.abstractmethod
    def min_normal_exponent(self) -> int:
        """Return the smallest normal exponent.

        A nonzero result below the smallest normal number is tiny (IEEE 754-2019 section 7.5).
        """

    @property
    @abc.abstractmethod
    def max_code(self) -> int:
        """Return the code of the largest finite number."""

    @property
    @abc.abstractmethod
    def smallest_code(self) -> int:
        """Return the code of the smallest positive number."""

    @property
    @abc.abstractmethod
    def precision(self) -> int:
        """Return the length in bits of the longest significand, including the leading 1."""

    @property
    def flushes(self) -> bool:
        """Return whether the format lacks subnormal numbers."""
        return False

    # --- which code a number or special has ------------------------------------------------------------------------

    @abc.abstractmethod
    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        """Return the code of a finite number that the format can represent.

        `negative` is the sign of the number, and distinguishes -0 from +0.
        """

    @abc.abstractmethod
    def inf_code(self, negative: bool) -> int | None:
        """Return the code of infinity, or None if the format has no infinity."""

    @abc.abstractmethod
    def nan_code(self, negative: bool) -> int | None:
        """Return the code of the canonical NaN, or None if the format has no NaN.

        If NaN and infinity share one code (NaN-Inf in HFP8 and DLFloat16), return this code.
        """

    @abc.abstractmethod
    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        """Return the codes of zero and the positive finite numbers in rising order, shape (n,)."""

    # --- derived -----------------------------------------------------------------------------------------------

    @property
    def max_magnitude(self) -> Fraction:
        """Return the exact value of the largest finite number."""
        return _max_magnitude(self)

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """Return the smallest unsigned NumPy dtype that can hold a code."""
        return np.dtype(np.uint8 if self.bits <= 8 else np.uint16 if self.bits <= 16 else np.uint32)

    @property
    def max(self) -> float:
        """Return the largest finite number."""
        return float(self.max_magnitude)

    @property
    def smallest(self) -> float:
        """Return the smallest positive number, including subnormal numbers."""
        return float(self.value_of(self.smallest_code))

    @property
    def smallest_normal(self) -> float:
        """Return the smallest positive number that has full precision."""
        return max(self.smallest, math.ldexp(1.0, self.min_normal_exponent))

    @property
    def min(self) -> float:
        """Return the lowest finite number."""
        return -self.max if self.signed else self.smallest

    @property
    def eps(self) -> float:
        """Return the distance from 1 to the next larger number, like `eps` of NumPy's `finfo`."""
        return math.ldexp(1.0, self.quantum(0))

    @property
    def smallest_subnormal(self) -> float:
        """Return the smallest positive number, like `smallest_subnormal` of NumPy's `finfo`."""
        return self.smallest

    @property
    def nan_is_inf(self) -> bool:
        """Return whether the format has a NaN-Inf code, which means both NaN and infinity."""
        return False

    @property
    def signed_zero(self) -> bool:
        """Return whether +0 and -0 are distinct."""
        return False

    @property
    def padding(self) -> int:
        """Return the number of padding bits: the lowest bits of every code, which are always 0."""
        return 0

    @property
    def twos_complement(self) -> bool:
        """Return whether negative numbers are stored in two's complement."""
        return False

    @property
    def programmable_bias(self) -> bool:
        """Return whether a hardware unit can have an input port for the format's extra exponent bias."""
        return False

    @property
    def native_dtype(self) -> str | None:
        """Return the name of the NumPy type (or bfloat16) with the format's bit layout, or None."""
        return None

    @property
    def padded_dtype(self) -> str | None:
        """Return the NumPy dtype with the format's bit layout, where padding bits count as fraction bits."""
        return self.native_dtype

    def offers(self, rounding: Rounding) -> bool:
        """Return whether a rounding mode is defined for the format."""
        return not rounding.reads_source and not rounding.needs_places

    def lies_within(self, lowest: int, highest: int) -> bool:
        """Return whether every number of the format is a multiple of 2^lowest and less than 2^highest."""
        last_place = self.quantum(floor_log2(self.value_of(self.smallest_code)))
        return last_place >= lowest and self.max_magnitude < pow2(highest)

    @property
    def has_nan(self) -> bool:
        """Return whether the format has a NaN."""
        return self.nan_code(False) is not None

    @property
    def signed(self) -> bool:
        """Return whether the format has negative numbers."""
        return True

    @property
    def ends_at_zero(self) -> bool:
        """Return whether this unsigned format treats a negative source number as an overflow.

        In an unsigned format with `ends_at_zero` false, a cast of a negative number gives NaN.
        """
        return False

    @property
    def has_zero(self) -> bool:
        """Return whether the format has a zero."""
        return True

    @property
    def has_inf(self) -> bool:
        """Return whether infinities have their own codes."""
        return self.inf_code(False) is not None

    @property
    def table(self) -> NDArray[np.float64]:
        """Return the value of every code, float64 of shape (2**bits,).

        Raises ValueError for formats with more than `TABLE_BITS` bits.
        """
        if self.bits > TABLE_BITS:
            raise ValueError(
                f"{self.name} has 2**{self.bits} codes; tables exist for formats of at most {TABLE_BITS} bits"
            )
        return _table(self)

    def _all_numbers(self) -> NDArray[np.float64]:
        return np.array([self.to_float(code) for code in range(1 << self.bits)])

    def to_float(self, code: int) -> float:
        """Return the value of one code as a float. Infinities and NaN keep the sign of the code."""
        kind = self.kind_of(code)
        if kind is Kind.NAN:
            return -math.nan if self.is_negative(code) else math.nan
        if kind is Kind.INF:
            return -math.inf if self.is_negative(code) else math.inf
        value = float(self.value_of(code))
        return -0.0 if kind is Kind.ZERO and self.is_negative(code) else value

    def __str__(self) -> str:
        return self.name


@functools.lru_cache(maxsize=256)
def _max_magnitude(fmt: Format) -> Fraction:
    return abs(fmt.value_of(fmt.max_code))


@functools.lru_cache(maxsize=256)
def _table(fmt: Format) -> NDArray[np.float64]:
    table = fmt._all_numbers()
    table.flags.writeable = False
    return table


@functools.lru_cache(maxsize=4096)
def pow2(exponent: int) -> Fraction:
    """Return 2^exponent, exactly."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def floor_log2(magnitude: Fraction) -> int:
    """Return floor(log2(magnitude)), exactly."""
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return exponent if pow2(exponent) <= magnitude else exponent - 1
