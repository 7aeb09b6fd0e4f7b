"""Exponents of exact sums: the weights of all bits that terms can have, from the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import Format, Kind, floor_log2

LIMB = 64


@dataclass(frozen=True, slots=True)
class Weights:
    """Terms are multiples of 2^`lowest` and less than 2^`highest`."""

    lowest: int
    highest: int

    def __add__(self, other: Weights) -> Weights:
        """The weights of products of two such terms."""
        return Weights(self.lowest + other.lowest, self.highest + other.highest)

    def bits(self, terms: int) -> int:
        """Bits of a magnitude that holds the sum of so many terms."""
        return self.highest - self.lowest + terms.bit_length()

    def limbs(self, terms: int) -> int:
        """Words of 64 bits of a two's complement number that holds the sum of so many terms."""
        return self.bits(terms) // LIMB + 1


def weights(formats: Iterable[Format]) -> Weights:
    """The weights of all numbers of some formats."""
    each = [_weights(fmt) for fmt in formats]
    return joined(each)


def _weights(fmt: Format) -> Weights:
    smallest = abs(fmt.value_of(fmt.smallest_code))
    return Weights(fmt.quantum(floor_log2(smallest)), floor_log2(_largest(fmt)) + 1)


def _largest(fmt: Format) -> Fraction:
    """The largest magnitude of a code; that of an integer is one that no cast produces."""
    if fmt.twos_complement:
        return max(abs(fmt.value_of(code)) for code in range(1 << fmt.bits) if fmt.kind_of(code) is Kind.FINITE)
    return fmt.max_magnitude


def joined(each: Sequence[Weights]) -> Weights:
    """The weights of terms of several kinds."""
    return Weights(min(w.lowest for w in each), max(w.highest for w in each))
