"""Bit masks and constants of binary32 and binary64 (IEEE 754-2019 section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostFloat:
    """IEEE 754 binary interchange format."""

    exponent_bits: int
    fraction_bits: int

    @property
    def precision(self) -> int:
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def top_field(self) -> int:
        """Return the exponent field of infinities and NaNs."""
        return (1 << self.exponent_bits) - 1

    @property
    def sign(self) -> int:
        """Return the bit pattern of -0."""
        return 1 << (self.exponent_bits + self.fraction_bits)

    @property
    def magnitude(self) -> int:
        return self.sign - 1

    @property
    def hidden(self) -> int:
        """Return the hidden leading 1 of a significand as an integer."""
        return 1 << self.fraction_bits

    @property
    def fraction(self) -> int:
        return self.hidden - 1

    @property
    def infinity(self) -> int:
        return self.top_field << self.fraction_bits

    @property
    def quiet_nan(self) -> int:
        return self.infinity | self.hidden >> 1

    @property
    def invalid_nan(self) -> int:
        """Return the NaN bit pattern that marks invalid operations. No decoded NaN has this pattern."""
        return self.quiet_nan | 1

    @property
    def lowest_quantum(self) -> int:
        """Return the exponent of the smallest subnormal number."""
        return 1 - self.bias - self.fraction_bits

    def pattern(self, exponent: int) -> int:
        """Return the bit pattern of 2^exponent, a normal number."""
        return (exponent + self.bias) << self.fraction_bits


BINARY32 = HostFloat(8, 23)
BINARY64 = HostFloat(11, 52)
