"""HiFloat8, an 8-bit format with tapered precision (HiF8 section 2)."""

from __future__ import annotations

import functools
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
class HiFloat8(Format):
    """HiFloat8 format: a sign bit, a dot field, a sign-magnitude exponent, and a fraction (HiF8 section 2).

    The dot field of a HiFloat8 code is a prefix code for the number of exponent bits. The exponent's magnitude has a
    hidden leading 1 (HiF8 section 2.1). Numbers with an exponent from -3 to 3 have 3 fraction bits. Numbers with an
    exponent magnitude of 4 to 7 have 2 fraction bits. Numbers with an exponent magnitude of 8 to 15 have 1 fraction
    bit. The seven denormal numbers are the powers of two 2^(M-23) for M = 1..7 (HiF8 section 2.2). HiFloat8 has one
    zero (0x00), one NaN (0x80), and two infinities (0x6F and 0xEF).
    """

    name: str = "hif8"
    default_rounding: Rounding = Rounding.RNA
    source: str = "HiF8"

    __hash__ = Format.__hash__

    DENORMAL_OFFSET: ClassVar[int] = 23
    LOWEST_NORMAL: ClassVar[int] = -15
    INF: ClassVar[int] = 0x6F
    NAN: ClassVar[int] = 0x80

    STOCHASTIC_FROM: ClassVar[int] = 4
    """Smallest exponent magnitude at which hybrid rounding compares dropped bits with a threshold (HiF8 section 3.2).

    At smaller exponent magnitudes, hybrid rounding rounds to nearest, ties away from zero.
    """
    CERTAIN_OVERFLOW: ClassVar[Fraction] = Fraction(40960)
    """Smallest magnitude that overflows under hybrid rounding with every threshold."""

    @property
    def bits(self) -> int:
        return 8

    @property
    def precision(self) -> int:
        return 1 + self.fraction_bits_at(0)

    def offers(self, rounding: Rounding) -> bool:
        return not rounding.needs_places

    @classmethod
    def is_stochastic_at(cls, exponent: int) -> bool:
        """Return whether hybrid rounding uses a threshold for magnitudes in [2^exponent, 2^(exponent+1))."""
        return abs(exponent) >= cls.STOCHASTIC_FROM and exponent >= -cls.DENORMAL_OFFSET

    @staticmethod
    def threshold_bits(source: Format) -> tuple[int, int]:
        """Return the numbers (n, m) of source bits and of constant 1 bits in the threshold of hybrid rounding.

        The upper n bits of the threshold are the lowest n bits of the source, and the m bits below are 1.

        For an FP32 source, the threshold is the 14 lowest bits of the source (HiF8 section 3.2). For an FP16 or BF16
        source, the threshold of hybrid rounding has two bits: the source's lowest bit, and then a 1 (CANN `Cast`).
        Raises ValueError for other sources.
        """
        match source.native_dtype:
            case "float32":
                return 14, 0
            case "float16" | "bfloat16":
                return 1, 1
            case _:
                raise ValueError(f"{source.name} given as source of rounding hybrid; give fp32, fp16 or bf16")

    def kind_of(self, code: int) -> Kind:
        if code == 0:
            return Kind.ZERO
        if code == self.NAN:
            return Kind.NAN
        return Kind.INF if code & 0x7F == self.INF else Kind.FINITE

    def value_of(self, code: int) -> Fraction:
        magnitude = _hif8_magnitude(code & 0x7F)
        return -magnitude if code & 0x80 else magnitude

    def is_negative(self, code: int) -> bool:
        return code > self.NAN

    @staticmethod
    def fraction_bits_at(exponent: int) -> int:
        """Return the number of fraction bits of a number with the given exponent. Denormal numbers have 0."""
        size = abs(exponent)
        if exponent < HiFloat8.LOWEST_NORMAL:
            return 0
        return 3 if size < 4 else 2 if size < 8 else 1

    def quantum(self, exponent: int) -> int:
        exponent = max(exponent, 1 - self.DENORMAL_OFFSET)
        return exponent - self.fraction_bits_at(exponent)

    @property
    def min_normal_exponent(self) -> int:
        return self.LOWEST_NORMAL

    @property
    def max_code(self) -> int:
        return self.INF - 1

    @property
    def smallest_code(self) -> int:
        return 1

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        if magnitude == 0:
            return 0
        code = _hif8_codes().get(magnitude)
        if code is None:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return code | (0x80 if negative else 0)

    def inf_code(self, negative: bool) -> int | None:
        return self.INF | (0x80 if negative else 0)

    def nan_code(self, negative: bool) -> int | None:
        return self.NAN

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.array([0, *(code for _, code in sorted(_hif8_codes().items()))], dtype=np.uint32)


def _hif8_magnitude(code: int) -> Fraction:
    """Return the value of a finite HiFloat8 number from the 7 code bits without the sign (HiF8 Tables 2 and 3)."""
    if code < 0b0000_111 + 1:
        return Fraction(0) if code == 0 else pow2(code - HiFloat8.DENORMAL_OFFSET)
    # The dot field is a prefix code: (number of exponent bits, width of the dot field).
    dot, width = next((d, w) for d, w in ((4, 2), (3, 2), (2, 2), (1, 3), (0, 4)) if code >> (7 - w) == _DOT_FIELD[d])
    fraction_bits = 7 - width - dot
    fraction = code & ((1 << fraction_bits) - 1)
    field = (code >> fraction_bits) & ((1 << dot) - 1)
    exponent = 0
    if dot:
        negative, low = divmod(field, 1 << (dot - 1))
        size = (1 << (dot - 1)) + low
        exponent = -size if negative else size
    return ((1 << fraction_bits) + fraction) * pow2(exponent - fraction_bits)


_DOT_FIELD = {4: 0b11, 3: 0b10, 2: 0b01, 1: 0b001, 0: 0b0001}


@functools.lru_cache(maxsize=1)
def _hif8_codes() -> dict[Fraction, int]:
    return {_hif8_magnitude(code): code for code in range(1, HiFloat8.INF)} | {
        _hif8_magnitude(code): code for code in range(HiFloat8.INF + 1, 0x80)
    }
