"""Tables that define HiFloat8's hybrid rounding by comparing bit fields (HiF8 section 3.2).

If a magnitude has an exponent of -23 to -4 or 4 to 15, hybrid rounding compares the dropped bits with a threshold T.
The threshold T is made from the lowest bits of the source number. The magnitude is rounded up if the dropped bits, read
as a number F, are at least the threshold T. If a magnitude has an exponent of -3 to 3, hybrid rounding is to nearest,
ties away from zero.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace

from fp9.formats import FixedFormat, HiFloat8, Rounding, floor_log2, pow2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags
from fp9.oracle.thresholds import Step, ThresholdTable, threshold_table


@dataclass(frozen=True, slots=True)
class Field:
    """Bit field [high:low] of the source significand, with the hidden bit included. `pad` zeros follow the field."""

    high: int
    low: int
    pad: int

    def of(self, significand: int) -> int:
        return (significand >> self.low & ((1 << (self.high - self.low + 1)) - 1)) << self.pad


@dataclass(frozen=True, slots=True)
class Binade:
    """Source patterns from `first` to `end - 1`, whose numbers all have the same exponent."""

    first: int
    end: int
    field: Field  # the significand bits that rounding drops, which form the number F


@dataclass(frozen=True, slots=True)
class HybridTable:
    """Table of a cast with hybrid rounding, for source numbers of a single sign.

    A pattern is the code of a source number without the sign bit.
    """

    nearest: ThresholdTable  # for patterns outside `binades`, which are rounded to nearest
    binades: tuple[Binade, ...]
    # Target codes by source pattern, for zero, each positive target number, and overflow.
    numbers: tuple[Step, ...]
    # The threshold T is the lowest `threshold_bits` bits of the source pattern, with `threshold_ones` ones below.
    threshold_bits: int
    threshold_ones: int
    # Binade below the smallest normal number. A magnitude in this binade is tiny if a bit of the field
    # `near_normal_ones` is 0, or if F is less than T.
    near_normal: Binade
    near_normal_ones: Field

    @property
    def source(self) -> FixedFormat:
        return self.nearest.source

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        joined: list[tuple[int, int]] = []
        for binade in self.binades:
            if joined and joined[-1][1] == binade.first:
                joined[-1] = (joined[-1][0], binade.end)
            else:
                joined.append((binade.first, binade.end))
        return tuple(joined)

    def result(self, pattern: int) -> tuple[int, Flags]:
        binade = next((b for b in self.binades if b.first <= pattern < b.end), None)
        if binade is None:
            return self.nearest.result(pattern)
        up = binade.field.of(self._significand(pattern)) >= self._threshold(pattern)
        index = bisect.bisect_right(self.numbers, pattern, key=lambda number: number.first) - 1
        code = self.numbers[index + up].code
        if index + up == len(self.numbers) - 1:
            return code, Flags.OVERFLOW | Flags.INEXACT
        if not up and self.numbers[index].first == pattern:
            return code, Flags(0)
        return code, Flags.INEXACT | (Flags.UNDERFLOW if self._tiny(pattern) else Flags(0))

    def _significand(self, pattern: int) -> int:
        hidden = 1 << self.source.fraction_bits
        return pattern % hidden | (hidden if pattern >= hidden else 0)

    def _threshold(self, pattern: int) -> int:
        ones = (1 << self.threshold_ones) - 1
        return pattern % (1 << self.threshold_bits) << self.threshold_ones | ones

    def _tiny(self, pattern: int) -> bool:
        near = self.near_normal
        if not near.first <= pattern < near.end:
            return pattern < near.first
        significand, ones = self._significand(pattern), self.near_normal_ones
        all_ones = ones.of(significand) == (1 << (ones.high - ones.low + 1)) - 1
        return not (all_ones and near.field.of(significand) >= self._threshold(pattern))


def hybrid_table(source: FixedFormat, target: HiFloat8, policy: CastPolicy, negative: bool) -> HybridTable:
    nearest = threshold_table(source, target, replace(policy, rounding=Rounding.RNA), negative)
    bits, ones = target.threshold_bits(source)
    width = bits + ones
    every = range(-target.DENORMAL_OFFSET, floor_log2(target.max_magnitude) + 1)
    exponents = [exponent for exponent in every if target.is_stochastic_at(exponent)]
    end = source.code_of(target.CERTAIN_OVERFLOW)
    binades = [
        Binade(first, min(last, end), _field(source, e, target.quantum(e), width))
        for e in exponents
        for first, last in [_patterns(source, e)]
    ]
    sign = 1 << (target.bits - 1) if negative else 0
    numbers = [
        Step(source.code_of(target.value_of(int(code))), int(code) | sign) for code in target.ordered_magnitudes()[1:]
    ]
    overflow = nearest.result(nearest.overflow_from)[0]
    # Tininess is decided with the precision of a normal number, as if the magnitude were two binades higher.
    below, lift = target.min_normal_exponent - 1, 2
    last_place = target.quantum(below + lift) - lift
    field = _field(source, below, last_place, width)
    return HybridTable(
        nearest,
        tuple(binades),
        (Step(0, 0), *numbers, Step(source.sign_mask, overflow)),
        bits,
        ones,
        Binade(*_patterns(source, below), field),
        Field(below - source.quantum(below) - 1, last_place - source.quantum(below), 0),
    )


def _patterns(source: FixedFormat, exponent: int) -> tuple[int, int]:
    first = source.code_of(pow2(exponent))
    return first, first + min(first, 1 << source.fraction_bits)


def _field(source: FixedFormat, exponent: int, last_place: int, width: int) -> Field:
    below = last_place - source.quantum(exponent)
    return Field(below - 1, max(0, below - width), max(0, width - below))
