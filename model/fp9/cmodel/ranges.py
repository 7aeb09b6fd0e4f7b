"""Weights of exact sums: the exponents of all bits that terms can have, from the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import Format, Kind, floor_log2

LIMB = 64


@dataclass(frozen=True, slots=True)
class Weights:
    """Range of terms: multiples of 2^`lowest`, below 2^`highest` in magnitude."""

    lowest: int
    highest: int

    def __add__(self, other: Weights) -> Weights:
        """Return the weights of products of two terms."""
        return Weights(self.lowest + other.lowest, self.highest + other.highest)

    def bits(self, terms: int) -> int:
        """Return the bits of a magnitude that holds the sum of so many terms."""
        return self.highest - self.lowest + terms.bit_length()

    def limbs(self, terms: int) -> int:
        """Return the number of 64-bit words of a two's complement number that holds the sum of so many terms."""
        return self.bits(terms) // LIMB + 1


def weights(formats: Iterable[Format]) -> Weights:
    """Return the weights of all numbers of some formats."""
    each = [_weights(fmt) for fmt in formats]
    return joined(each)


def _weights(fmt: Format) -> Weights:
    smallest = abs(fmt.value_of(fmt.smallest_code))
    return Weights(fmt.quantum(floor_log2(smallest)), floor_log2(_largest(fmt)) + 1)


def _largest(fmt: Format) -> Fraction:
    """Return the largest magnitude of a code; for integers, this code never results from a cast."""
    if fmt.twos_complement:
        return max(abs(fmt.value_of(code)) for code in range(1 << fmt.bits) if fmt.kind_of(code) is Kind.FINITE)
    return fmt.max_magnitude


def joined(each: Sequence[Weights]) -> Weights:
    """Return the weights that cover terms of several kinds."""
    return Weights(min(w.lowest for w in each), max(w.highest for w in each))
