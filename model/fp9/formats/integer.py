"""Scaled integers, such as Graphcore's format 1.0.7."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.formats.base import Format, Kind, pow2
from fp9.formats.fixed import FixedFormat, Specials
from fp9.formats.rounding import Rounding
from fp9.names import found_by


@found_by("fp9.formats", "format")
@dataclass(frozen=True)
class ScaledInteger(Format):
    """Format of 8-bit two's complement integers n that represent n * 2^-bias (format 1.0.7 of Graphcore).

    Casts give only integers from -127 to 127, so casts never give the code 0x80.
    """

    name: str
    bias: int
    default_rounding: Rounding = Rounding.RNE
    source: str = "GC"

    __hash__ = Format.__hash__

    def __post_init__(self) -> None:
        if abs(self.bias) > 512:
            raise ValueError(f"{self.name}: bias {self.bias} given; give one in -512..512")

    @property
    def bits(self) -> int:
        return 8

    @property
    def precision(self) -> int:
        return self.max_code.bit_length()

    @property
    def twos_complement(self) -> bool:
        return True

    @property
    def sign_magnitude(self) -> FixedFormat:
        """Return a floating-point format that has all numbers of the integer format, and -0.

        The format has 1 exponent bit, so that all neighbouring numbers have the same distance.
        """
        fraction_bits = self.precision - 1
        return FixedFormat(self.name, 1, fraction_bits, self.bias - fraction_bits + 1, True, Specials.FINITE)

    def kind_of(self, code: int) -> Kind:
        return Kind.FINITE if code else Kind.ZERO

    def value_of(self, code: int) -> Fraction:
        return (code - 256 if code & 0x80 else code) * pow2(-self.bias)

    def is_negative(self, code: int) -> bool:
        return bool(code & 0x80)

    def quantum(self, exponent: int) -> int:
        return -self.bias

    @property
    def can_underflow(self) -> bool:
        return False

    @property
    def min_normal_exponent(self) -> int:
        return -self.bias

    @property
    def max_code(self) -> int:
        return 127

    @property
    def smallest_code(self) -> int:
        return 1

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        steps = magnitude / pow2(-self.bias)
        if steps.denominator != 1 or steps > 127:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return int(-steps if negative else steps) & 0xFF

    def inf_code(self, negative: bool) -> int | None:
        return None

    def nan_code(self, negative: bool) -> int | None:
        return None

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.arange(128, dtype=np.uint32)
