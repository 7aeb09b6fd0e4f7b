"""Unsigned floating-point formats: UE4M3 and UE5M3 (NVIDIA), E6M2 (HiF4), P3109 formats."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.formats.base import Format, Kind, floor_log2, pow2
from fp9.formats.rounding import Rounding
from fp9.names import found_by


@found_by("fp9.formats", "format")
@dataclass(frozen=True)
class UnsignedFloat(Format):
    """Unsigned floating-point format with `exponent_bits` exponent bits and `fraction_bits` fraction bits.

    In an `UnsignedFloat` format, the code with all bits 1 means NaN. With `infinity`, the second-highest code means
    infinity.

    A normal number with exponent field e and fraction m is 2^(e-bias) (1 + m/2^fraction_bits). With `subnormals`, a
    code with exponent field 0 and fraction m means 2^(1-bias) (m/2^fraction_bits). Code 0 then means zero. Without
    `subnormals`, codes with exponent field 0 are normal numbers, and the format has no zero.

    A cast of a negative number to an unsigned format gives NaN, or follows the overflow policy if the format is
    `bounded`. A cast of -0 gives +0. A cast of zero to a format without zero gives NaN. In a format without zero, a
    positive number below the smallest number rounds up to the smallest number, as in E8M0.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    subnormals: bool = True
    default_rounding: Rounding = Rounding.RNE
    source: str = ""
    infinity: bool = False
    bounded: bool = False

    __hash__ = Format.__hash__

    @property
    def ends_at_zero(self) -> bool:
        return self.bounded

    @property
    def bits(self) -> int:
        return self.exponent_bits + self.fraction_bits

    @property
    def signed(self) -> bool:
        return False

    @property
    def has_zero(self) -> bool:
        return self.subnormals

    @property
    def precision(self) -> int:
        return self.fraction_bits + 1

    @property
    def lowest_exponent(self) -> int:
        """Return the exponent of the lowest binade of normal numbers."""
        return self.subnormals - self.bias

    def kind_of(self, code: int) -> Kind:
        if code > self.max_code:
            return Kind.INF if code == self.inf_code(False) else Kind.NAN
        return Kind.FINITE if code or not self.has_zero else Kind.ZERO

    def value_of(self, code: int) -> Fraction:
        exponent, fraction = divmod(code, 1 << self.fraction_bits)
        if exponent == 0 and self.subnormals:
            return fraction * pow2(self.lowest_exponent - self.fraction_bits)
        return ((1 << self.fraction_bits) + fraction) * pow2(exponent - self.bias - self.fraction_bits)

    def is_negative(self, code: int) -> bool:
        return False

    def quantum(self, exponent: int) -> int:
        return max(exponent, self.lowest_exponent) - self.fraction_bits

    @property
    def min_normal_exponent(self) -> int:
        return self.lowest_exponent

    @property
    def max_code(self) -> int:
        return (1 << self.bits) - 2 - self.infinity

    @property
    def smallest_code(self) -> int:
        return int(self.has_zero)

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        if magnitude == 0 and self.has_zero:
            return 0
        code = self._code_at(magnitude) if magnitude > 0 and not negative else None
        if code is None:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return code

    def _code_at(self, magnitude: Fraction) -> int | None:
        exponent = max(floor_log2(magnitude), self.lowest_exponent)
        steps = magnitude / pow2(exponent - self.fraction_bits)
        hidden = 0 if self.subnormals else 1 << self.fraction_bits
        code = (exponent - self.lowest_exponent << self.fraction_bits) + int(steps) - hidden
        return code if steps.denominator == 1 and self.smallest_code <= code <= self.max_code else None

    def inf_code(self, negative: bool) -> int | None:
        return self.max_code + 1 if self.infinity and not negative else None

    def nan_code(self, negative: bool) -> int | None:
        return (1 << self.bits) - 1

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.arange(self.max_code + 1, dtype=np.uint32)
