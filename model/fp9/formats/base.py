"""What every format answers: codes, values, spacing, limits."""

from __future__ import annotations

import abc
import functools
import math
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.rounding import Rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Kind(Enum):
    """What a code stands for."""

    ZERO = "zero"
    FINITE = "finite"
    INF = "inf"
    NAN = "nan"


class Format(abc.ABC):
    """A set of codes of `bits` bits and what they stand for."""

    name: str
    default_rounding: Rounding
    source: str

    def __hash__(self) -> int:
        """Of the name alone: tables are kept by format, and looked up at every call."""
        return hash(self.name)

    # --- what a code means -------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def bits(self) -> int:
        """Width of a code in bits."""

    @abc.abstractmethod
    def kind_of(self, code: int) -> Kind:
        """What `code` stands for."""

    @abc.abstractmethod
    def value_of(self, code: int) -> Fraction:
        """Exact value of a code that stands for zero or a finite number."""

    @abc.abstractmethod
    def is_negative(self, code: int) -> bool:
        """Sign of the code (False where the sign carries no meaning)."""

    # --- how the numbers are spaced ------------------------------------------------------------------------------

    @abc.abstractmethod
    def quantum(self, exponent: int) -> int:
        """Base-2 logarithm of the ulp for magnitudes in [2^exponent, 2^(exponent+1)), any exponent.

        Above the largest number the last spacing rule goes on, so that overflow can be decided after rounding.
        Below the smallest number the spacing of the smallest binade holds.
        """

    @property
    def can_underflow(self) -> bool:
        """Whether small results lose relative precision (a fixed-point format has none to lose)."""
        return True

    @property
    @abc.abstractmethod
    def min_normal_exponent(self) -> int:
        """Exponent below which a result counts as tiny (IEEE 754-2019 section 7.5)."""

    @property
    @abc.abstractmethod
    def max_code(self) -> int:
        """Code of the largest finite number."""

    @property
    @abc.abstractmethod
    def smallest_code(self) -> int:
        """Code of the smallest number above zero."""

    @property
    @abc.abstractmethod
    def precision(self) -> int:
        """Bits of the longest significand, the leading 1 included."""

    @property
    def flushes(self) -> bool:
        """Whether there is nothing but zero below the lowest binade: no subnormal numbers."""
        return False

    # --- which code a number or special has ------------------------------------------------------------------------

    @abc.abstractmethod
    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        """Code of a representable finite number; `negative` also chooses between two zeros where there are two."""

    @abc.abstractmethod
    def inf_code(self, negative: bool) -> int | None:
        """Code of infinity, None where the format has none."""

    @abc.abstractmethod
    def nan_code(self, negative: bool) -> int | None:
        """Code of the canonical NaN (or NaN-Inf), None where the format has none."""

    @abc.abstractmethod
    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        """Codes of zero and of the positive finite numbers in rising order; shape (n,)."""

    # --- derived -----------------------------------------------------------------------------------------------

    @property
    def max_magnitude(self) -> Fraction:
        """Largest finite number, exactly."""
        return _max_magnitude(self)

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """Smallest unsigned NumPy type that holds a code."""
        return np.dtype(np.uint8 if self.bits <= 8 else np.uint16 if self.bits <= 16 else np.uint32)

    @property
    def max(self) -> float:
        """Largest finite number."""
        return float(self.max_magnitude)

    @property
    def smallest(self) -> float:
        """Smallest number above zero, subnormal numbers counted."""
        return float(self.value_of(self.smallest_code))

    @property
    def smallest_normal(self) -> float:
        """Smallest number of full precision above zero."""
        return max(self.smallest, math.ldexp(1.0, self.min_normal_exponent))

    @property
    def min(self) -> float:
        """Lowest finite number."""
        return -self.max if self.signed else self.smallest

    @property
    def eps(self) -> float:
        """Distance from 1 to the next number above it (as far as the spacing rule reaches)."""
        return math.ldexp(1.0, self.quantum(0))

    @property
    def smallest_subnormal(self) -> float:
        """Smallest number above zero, under the name that finfo has for it."""
        return self.smallest

    @property
    def nan_is_inf(self) -> bool:
        """Whether one code stands for NaN and infinity (NaN-Inf)."""
        return False

    @property
    def signed_zero(self) -> bool:
        """Whether +0 and -0 are two different things."""
        return False

    @property
    def padding(self) -> int:
        """Bits of zero at the end of every code."""
        return 0

    @property
    def twos_complement(self) -> bool:
        """Whether negative numbers are coded as two's complement, not as sign and magnitude."""
        return False

    @property
    def programmable_bias(self) -> bool:
        """Whether hardware can take this format's extra bias on a port."""
        return False

    @property
    def native_dtype(self) -> str | None:
        """Name of the host's own type (NumPy's, or bfloat16) whose bits are this format's codes, where there is one."""
        return None

    @property
    def padded_dtype(self) -> str | None:
        """As `native_dtype`, also where the type has fraction bits in the place of the format's padding."""
        return self.native_dtype

    def offers(self, rounding: Rounding) -> bool:
        """Whether a rounding is defined for the format."""
        return not rounding.reads_source and not rounding.needs_places

    def lies_within(self, lowest: int, highest: int) -> bool:
        """Whether every number is a multiple of 2^lowest and less than 2^highest."""
        last_place = self.quantum(floor_log2(self.value_of(self.smallest_code)))
        return last_place >= lowest and self.max_magnitude < pow2(highest)

    @property
    def has_nan(self) -> bool:
        """Whether the format has a NaN."""
        return self.nan_code(False) is not None

    @property
    def signed(self) -> bool:
        """Whether there are negative numbers."""
        return True

    @property
    def ends_at_zero(self) -> bool:
        """Whether zero is the lowest number, as the largest is at the other end; else numbers below it become NaN."""
        return False

    @property
    def has_zero(self) -> bool:
        """Whether there is a zero."""
        return True

    @property
    def has_inf(self) -> bool:
        """Whether the format has infinities of their own."""
        return self.inf_code(False) is not None

    @property
    def table(self) -> NDArray[np.float64]:
        """All codes decoded to float64, shape (2**bits,); only for formats of at most 16 bits.

        Raises ValueError for wider formats.
        """
        if self.bits > 16:
            raise ValueError(f"{self.name} has 2**{self.bits} codes; a table is kept for formats of at most 16 bits")
        return _table(self)

    def to_float(self, code: int) -> float:
        """One code decoded: NaN (with the code's sign) and infinities as floats."""
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
    table = np.array([fmt.to_float(code) for code in range(1 << fmt.bits)])
    table.flags.writeable = False
    return table


@functools.lru_cache(maxsize=4096)
def pow2(exponent: int) -> Fraction:
    """2^exponent, exactly."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def floor_log2(magnitude: Fraction) -> int:
    """Exponent of the binade that holds a positive magnitude."""
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return exponent if pow2(exponent) <= magnitude else exponent - 1
