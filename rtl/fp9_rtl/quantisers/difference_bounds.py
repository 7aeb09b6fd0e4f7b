"""Bounds on the difference between the results of quantising a number with two scales."""

# A quantiser may try two scales for a block and compare their sums of squared errors. The bounds determine the widths
# of this comparison. A block has only a few possible pairs of scales, and a number only a few possible pairs of
# elements. Therefore, the squared errors under both scales differ far less than their size.

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
class DifferenceBounds:
    """Bounds on the change of a quantised number, and of its squared error, if the scale of its block changes."""

    # The fields are upper bounds of |d2 - d1|, |d2^2 - d1^2| and |2 x (d2 - d1)|, where two scales quantise the number
    # x to d1 and d2. The unit of x, d1 and d2 is the product of three factors: the smallest element, the first scale's
    # unit in the last place, and the tensor scale.

    elements: int
    squares: int
    products: int


@dataclass(frozen=True, slots=True)
class _Nearest:
    """A representable number, with the interval of numbers that round to it."""

    number: Fraction
    low: Fraction
    high: Fraction

    def meets(self, other: _Nearest) -> bool:
        return max(self.low, other.low) <= min(self.high, other.high)


def counts(element: Format) -> list[int]:
    """Return each code's magnitude as a multiple of the smallest positive element."""
    return [int(element.value_of(code) / element.value_of(1)) for code in range(element.max_code + 1)]


@functools.cache
def difference_bounds(unit: Quantiser) -> DifferenceBounds:
    """Return bounds on how far a quantised number and its squared error change between two scales of a block."""
    # The bounds cover all pairs of different scales that a block can have.
    differ = [
        (abs(second.number - first.number), first.number + second.number, min(first.high, second.high))
        for first, second in _elements(unit)
    ]
    return DifferenceBounds(
        math.ceil(max(difference for difference, _, _ in differ)),
        math.ceil(max(difference * total for difference, total, _ in differ)),
        math.ceil(max(2 * x * difference for difference, _, x in differ)),
    )


def _elements(unit: Quantiser) -> Iterator[tuple[_Nearest, _Nearest]]:
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
    middles = [(low + high) / 2 * divisor for low, high in itertools.pairwise(numbers)]
    between = zip(numbers, [Fraction(0), *middles], [*middles, most], strict=True)
    return [_Nearest(number, low, min(high, most)) for number, low, high in between if low <= most]
