"""Exponent ranges of terms that are added exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import Format, Kind, floor_log2

LIMB = 64


@dataclass(frozen=True, slots=True)
class Weights:
    """Range of a sum's terms: each term is a multiple of 2^`lowest` and less than 2^`highest`."""

    lowest: int
    highest: int

    def __add__(self, other: Weights) -> Weights:
        """Return the range of the products of two factors."""
        return Weights(self.lowest + other.lowest, self.highest + other.highest)

    def bits(self, terms: int) -> int:
        return self.highest - self.lowest + terms.bit_length()

    def limbs(self, terms: int) -> int:
        """Return the number of 64-bit words for a two's complement sum of terms."""
        return self.bits(terms) // LIMB + 1


def weights(formats: Iterable[Format]) -> Weights:
    each = [_weights(fmt) for fmt in formats]
    return joined(each)


def _weights(fmt: Format) -> Weights:
    smallest = abs(fmt.value_of(fmt.smallest_code))
    return Weights(fmt.quantum(floor_log2(smallest)), floor_log2(_largest(fmt)) + 1)


def _largest(fmt: Format) -> Fraction:
    # The lowest two's complement integer counts, although casts never return it.
    if fmt.twos_complement:
        return max(abs(fmt.value_of(code)) for code in range(1 << fmt.bits) if fmt.kind_of(code) is Kind.FINITE)
    return fmt.max_magnitude


def joined(each: Sequence[Weights]) -> Weights:
    return Weights(min(w.lowest for w in each), max(w.highest for w in each))
