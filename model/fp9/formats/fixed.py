"""Formats whose sign, exponent and fraction fields have fixed bit positions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats.base import Format, Kind, floor_log2, pow2
from fp9.formats.rounding import Rounding
from fp9.names import found_by


class Specials(Enum):
    """Rules for special codes: the codes of a fixed-field format that mean zero, infinity or NaN."""

    IEEE = "top exponent: infinity where the fraction is 0, NaN elsewhere"
    NAN_ONLY = "NaN where all bits but the sign are 1, no infinity"
    NEGATIVE_ZERO = "NaN at the code of -0 alone, no infinity, no -0"
    MERGED = "NaN-Inf where all bits but the sign are 1; its sign carries no meaning, nor that of zero"
    NONE = "every code but zero is a number; the sign of zero carries no meaning"
    FINITE = "every code is a number, -0 too"
    P3109 = "NaN at the code of -0, infinities where all bits but the sign are 1, no -0"
    P3109_FINITE = "NaN at the code of -0, no infinity, no -0; infinite sources saturate with the others"


@found_by("fp9.formats", "format")
@dataclass(frozen=True)
class FixedFormat(Format):
    """Format whose sign, exponent and fraction fields have fixed bit positions.

    From the top bit down, a code has a sign bit, `exponent_bits` exponent bits, `fraction_bits` fraction bits, and
    `padding` zero bits.

    A normal number with sign s, exponent field e and fraction m is (-1)^s 2^(e-bias) (1 + m/2^fraction_bits). With
    `subnormals`, a code with sign s, exponent field 0 and fraction m means (-1)^s 2^(1-bias) (m/2^fraction_bits).
    Without `subnormals`, a code with exponent field 0 is a normal number if its fraction is nonzero, and otherwise
    zero.

    Raises ValueError if a width or the bias is out of range, or if the special codes need more bits than the format
    has.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    subnormals: bool = True
    specials: Specials = Specials.IEEE
    default_rounding: Rounding = Rounding.RNE
    source: str = ""
    padding: int = 0
    programmable_bias: bool = False

    __hash__ = Format.__hash__

    def __post_init__(self) -> None:
        if not 1 <= self.exponent_bits <= 8 or not 0 <= self.fraction_bits <= 23:
            raise ValueError(
                f"{self.name}: {self.exponent_bits} exponent and {self.fraction_bits} fraction bits given; "
                "1 to 8 and 0 to 23 are possible"
            )
        if not 0 <= self.padding <= 23 - self.fraction_bits:
            raise ValueError(f"{self.name}: {self.padding} padding bits given; fraction and padding have at most 23")
        if abs(self.bias) > 512:
            raise ValueError(f"{self.name}: bias {self.bias} given; give one in -512..512")
        if self.specials is Specials.IEEE and (self.fraction_bits == 0 or self.exponent_bits == 1):
            raise ValueError(f"{self.name}: IEEE specials need a fraction and 2 exponent bits; choose other specials")

    @property
    def precision(self) -> int:
        return self.fraction_bits + 1

    @property
    def flushes(self) -> bool:
        return not self.subnormals

    @property
    def nan_is_inf(self) -> bool:
        return self.specials is Specials.MERGED

    @property
    def native_dtype(self) -> str | None:
        return None if self.padding else self.padded_dtype

    @property
    def padded_dtype(self) -> str | None:
        plain = self.specials is Specials.IEEE and self.subnormals
        return _NATIVE.get((self.exponent_bits, self.fraction_bits + self.padding, self.bias)) if plain else None

    @cached_property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits + self.padding

    @cached_property
    def sign_mask(self) -> int:
        """Return the mask of the sign bit."""
        return 1 << (self.bits - 1)

    @cached_property
    def magnitude_mask(self) -> int:
        """Return the mask of the exponent bits and fraction bits."""
        return self.sign_mask - (1 << self.padding)

    @property
    def signed_zero(self) -> bool:
        return self.specials in (Specials.IEEE, Specials.NAN_ONLY, Specials.FINITE)

    def offers(self, rounding: Rounding) -> bool:
        return not rounding.reads_source and (self.subnormals or not rounding.needs_places)

    def kind_of(self, code: int) -> Kind:
        magnitude = code & self.magnitude_mask
        if self.specials in _NAN_AT_ZERO and code == self.sign_mask:
            return Kind.NAN
        if magnitude == 0:
            return Kind.ZERO
        if magnitude <= self.max_code:
            return Kind.FINITE
        return Kind.INF if magnitude == self.inf_code(False) else Kind.NAN

    def value_of(self, code: int) -> Fraction:
        ordinal = (code & self.magnitude_mask) >> self.padding
        exponent, fraction = divmod(ordinal, 1 << self.fraction_bits)
        if ordinal == 0:
            return Fraction(0)
        if exponent == 0 and self.subnormals:
            magnitude = Fraction(fraction) * pow2(1 - self.bias - self.fraction_bits)
        else:
            magnitude = ((1 << self.fraction_bits) + fraction) * pow2(exponent - self.bias - self.fraction_bits)
        return -magnitude if code & self.sign_mask else magnitude

    def numbers(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Decode an array of codes, and return float64 numbers in the same shape.

        A decoded NaN has the sign of its code if the format has a signed zero.
        """
        ordinals = (codes.astype(np.int64) & self.magnitude_mask) >> self.padding
        fields, fractions = ordinals >> self.fraction_bits, ordinals & ((1 << self.fraction_bits) - 1)
        subnormal = (fields == 0) & self.subnormals
        significands = fractions + np.where(subnormal, 0, 1 << self.fraction_bits)
        numbers = np.ldexp(significands.astype(np.float64), fields + subnormal - (self.bias + self.fraction_bits))
        top = self.max_code >> self.padding
        numbers = np.where(ordinals == 0, 0.0, np.where(ordinals > top, np.nan, numbers))
        if self.has_inf:
            numbers = np.where(ordinals == top + 1, np.inf, numbers)
        negative = (codes & self.sign_mask) != 0
        if self.nan_code(False) == self.sign_mask:
            numbers = np.where(negative & (ordinals == 0), np.nan, numbers)
        signed = self.signed_zero | ~(np.isnan(numbers) | (numbers == 0))
        return np.where(negative & signed, -numbers, numbers)

    def is_negative(self, code: int) -> bool:
        if self.kind_of(code) in (Kind.FINITE, Kind.INF) or self.signed_zero:
            return bool(code & self.sign_mask)
        return False

    def _all_numbers(self) -> NDArray[np.float64]:
        return self.numbers(np.arange(1 << self.bits)) if self.bits > 8 else super()._all_numbers()

    @cached_property
    def lowest_exponent(self) -> int:
        """Return the exponent of the lowest binade of normal numbers."""
        return 1 - self.bias if self.subnormals else -self.bias

    @property
    def highest_exponent(self) -> int:
        """Return the exponent of the largest finite number."""
        return floor_log2(self.value_of(self.max_code))

    @property
    def min_normal_exponent(self) -> int:
        return self.lowest_exponent

    def quantum(self, exponent: int) -> int:
        return max(exponent, self.lowest_exponent) - self.fraction_bits

    @cached_property
    def max_code(self) -> int:
        if self.specials is Specials.IEEE:
            return self.magnitude_mask - (1 << (self.fraction_bits + self.padding))
        top_is_special = self.specials in (Specials.NAN_ONLY, Specials.MERGED, Specials.P3109)
        return self.magnitude_mask - (top_is_special << self.padding)

    @cached_property
    def smallest_code(self) -> int:
        return 1 << self.padding

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        if magnitude == 0:
            return self.sign_mask if negative and self.signed_zero else 0
        exponent = floor_log2(magnitude)
        steps = magnitude / pow2(self.quantum(exponent))
        field = max(exponent, self.lowest_exponent) - self.lowest_exponent
        code = (field << self.fraction_bits) + int(steps)
        if not self.subnormals:
            code -= 1 << self.fraction_bits
        code <<= self.padding
        if steps.denominator != 1 or not 0 < code <= self.max_code:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return code | (self.sign_mask if negative else 0)

    def inf_code(self, negative: bool) -> int | None:
        if self.specials not in (Specials.IEEE, Specials.P3109):
            return None
        return self.max_code + self.smallest_code | (self.sign_mask if negative else 0)

    def nan_code(self, negative: bool) -> int | None:
        sign = self.sign_mask if negative else 0
        match self.specials:
            case Specials.IEEE if self.bits > 8:
                return sign | self.magnitude_mask - (1 << (self.fraction_bits - 1 + self.padding)) + self.smallest_code
            case Specials.IEEE | Specials.NAN_ONLY:
                return sign | self.magnitude_mask
            case special if special in _NAN_AT_ZERO:
                return self.sign_mask
            case Specials.MERGED:
                return self.magnitude_mask
            case _:
                return None

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.arange((self.max_code >> self.padding) + 1, dtype=np.uint32) << np.uint32(self.padding)


_NAN_AT_ZERO = (Specials.NEGATIVE_ZERO, Specials.P3109, Specials.P3109_FINITE)

_NATIVE = {(5, 10, 15): "float16", (8, 7, 127): "bfloat16", (8, 23, 127): "float32"}
"""Names of NumPy types, and bfloat16, by exponent bits, fraction bits and bias."""
