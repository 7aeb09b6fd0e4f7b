"""E8M0, the scale format of MX blocks. Its numbers are positive powers of two."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fp9.formats.base import Format, Kind, pow2
from fp9.formats.rounding import Rounding
from fp9.names import found_by


@found_by("fp9.formats", "format")
@dataclass(frozen=True)
class PowerOfTwo(Format):
    """Format of block scales, with 8 exponent bits, and without sign, zero or infinity.

    A code e from 0 to 254 means 2^(e-127), and the code 0xFF means NaN. A cast of zero or of a negative number to E8M0
    gives NaN. A cast of a positive number below 2^-127 gives 2^-127, the smallest number of E8M0.
    """

    name: str = "e8m0"
    default_rounding: Rounding = Rounding.RNE
    source: str = "MX"

    __hash__ = Format.__hash__

    BIAS: ClassVar[int] = 127
    NAN: ClassVar[int] = 0xFF

    @property
    def bits(self) -> int:
        return 8

    @property
    def signed(self) -> bool:
        return False

    @property
    def has_zero(self) -> bool:
        return False

    @property
    def precision(self) -> int:
        return 1

    def kind_of(self, code: int) -> Kind:
        return Kind.NAN if code == self.NAN else Kind.FINITE

    def value_of(self, code: int) -> Fraction:
        return pow2(code - self.BIAS)

    def is_negative(self, code: int) -> bool:
        return False

    def quantum(self, exponent: int) -> int:
        return max(exponent, -self.BIAS)

    @property
    def min_normal_exponent(self) -> int:
        return -self.BIAS

    @property
    def max_code(self) -> int:
        return self.NAN - 1

    @property
    def smallest_code(self) -> int:
        return 0

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        exponent = exact_exponent(magnitude)
        if negative or exponent is None or not 0 <= exponent + self.BIAS <= self.max_code:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return exponent + self.BIAS

    def inf_code(self, negative: bool) -> int | None:
        return None

    def nan_code(self, negative: bool) -> int | None:
        return self.NAN

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.arange(self.max_code + 1, dtype=np.uint32)


def exact_exponent(magnitude: Fraction) -> int | None:
    """Return log2 of a power of two, and None for other magnitudes."""
    wide, narrow = max(magnitude.numerator, magnitude.denominator), min(magnitude.numerator, magnitude.denominator)
    if narrow != 1 or wide & (wide - 1):
        return None
    return magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
