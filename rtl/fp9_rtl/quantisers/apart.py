"""How far apart two tries of a block are at most: the ranges of what compares them.

Both scales are nearest to quotients of the same largest magnitude, and both elements to the same number over them. So
few scales and few elements meet, and the sums of both tries differ by far less than either can be.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import Format
from fp9.units import Quantiser
from fp9_rtl.quantisers.rules import tries


@dataclass(frozen=True, slots=True)
class Apart:
    """Bounds for one number x and its elements times scales d, with smallest elements times places of the first scale
    times the array's scale as the unit: of |d2 - d1|, |d2^2 - d1^2| and |2 x (d2 - d1)|."""

    elements: int
    squares: int
    products: int


@dataclass(frozen=True, slots=True)
class _Nearest:
    """A number of a few, and what it is the nearest to: all from `low` to `high`."""

    number: Fraction
    low: Fraction
    high: Fraction

    def meets(self, other: _Nearest) -> bool:
        """Whether both are nearest to the same."""
        return max(self.low, other.low) <= min(self.high, other.high)


def counts(element: Format) -> list[int]:
    """Magnitudes of an element, in smallest ones, by their codes."""
    return [int(element.value_of(code) / element.value_of(1)) for code in range(element.max_code + 1)]


@functools.cache
def apart(unit: Quantiser) -> Apart:
    """The bounds of the tries of a unit's rules, where they take different scales."""
    differ = [
        (abs(second.number - first.number), first.number + second.number, min(first.high, second.high))
        for first, second in _elements(unit)
    ]
    return Apart(
        math.ceil(max(difference for difference, _, _ in differ)),
        math.ceil(max(difference * total for difference, total, _ in differ)),
        math.ceil(max(2 * x * difference for difference, _, x in differ)),
    )


def _elements(unit: Quantiser) -> Iterator[tuple[_Nearest, _Nearest]]:
    """Elements times scales of the two tries that one number can have."""
    scale, smallest = unit.block.scale, unit.block.element.value_of(1)
    numbers = [scale.value_of(code) for code in range(scale.max_code + 1)]
    firsts, seconds = (_nearest(numbers, divisor, numbers[-1] * 2 * divisor) for divisor in tries(unit))
    for (code, first), second in itertools.product(enumerate(firsts), seconds):
        if first.number == second.number or not first.meets(second):
            continue
        place = numbers[1] * (1 << max(0, (code >> scale.precision - 1) - 1))
        amax = min(first.high, second.high) / place / smallest
        mine, others = (
            _nearest([size * one.number / place for size in counts(unit.block.element)], Fraction(1), amax)
            for one in (first, second)
        )
        yield from ((element, other) for element in mine for other in others if element.meets(other))


def _nearest(numbers: Sequence[Fraction], divisor: Fraction, most: Fraction) -> list[_Nearest]:
    """What ascending numbers are nearest to, over a divisor; those that are nearest to something of no more than
    `most`."""
    middles = [(low + high) / 2 * divisor for low, high in itertools.pairwise(numbers)]
    between = zip(numbers, [Fraction(0), *middles], [*middles, most], strict=True)
    return [_Nearest(number, low, min(high, most)) for number, low, high in between if low <= most]
