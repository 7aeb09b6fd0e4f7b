"""The host's own floats, binary32 and binary64 (IEEE 754-2019 section 3.4), as masks and numbers for kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostFloat:
    """A binary interchange format of the host: sign, `exponent_bits`, `fraction_bits`."""

    exponent_bits: int
    fraction_bits: int

    @property
    def precision(self) -> int:
        """Bits of a significand, the leading 1 included."""
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        """Exponent field of numbers in [1, 2)."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def top_field(self) -> int:
        """Exponent field of infinities and NaN."""
        return (1 << self.exponent_bits) - 1

    @property
    def sign(self) -> int:
        """Pattern of -0."""
        return 1 << (self.exponent_bits + self.fraction_bits)

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return self.sign - 1

    @property
    def hidden(self) -> int:
        """Place value of the leading 1 above the fraction, and pattern of the smallest normal number."""
        return 1 << self.fraction_bits

    @property
    def fraction(self) -> int:
        """All bits of the fraction."""
        return self.hidden - 1

    @property
    def infinity(self) -> int:
        """Pattern of +infinity."""
        return self.top_field << self.fraction_bits

    @property
    def quiet_nan(self) -> int:
        """Pattern of the canonical NaN."""
        return self.infinity | self.hidden >> 1

    @property
    def invalid_nan(self) -> int:
        """Pattern of a NaN that no NaN operand went into; different from `quiet_nan` and every decoded NaN."""
        return self.quiet_nan | 1

    @property
    def lowest_quantum(self) -> int:
        """Exponent of the smallest subnormal number."""
        return 1 - self.bias - self.fraction_bits

    def pattern(self, exponent: int) -> int:
        """Pattern of 2^exponent, of a normal number."""
        return (exponent + self.bias) << self.fraction_bits


BINARY32 = HostFloat(8, 23)
BINARY64 = HostFloat(11, 52)
