"""Golden conversions of a multi-format FPU between floating-point numbers and integers (RISC-V F)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats.rounding import Flags, Rounding
from fp9.golden.selects import places, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.units import MultiFpu

    Numbers = NDArray[np.float64]


def from_integers(unit: MultiFpu, words: NDArray[Any], formats: NDArray[Any]) -> Numbers:
    """Return the integers in the low bits of words, shape (n,). `formats` indexes `unit.integers`."""
    numbers = np.zeros(len(words))
    for index, here in places(formats):
        bits = words[here].astype(np.int64) & (1 << unit.integers[index].bits) - 1
        numbers[here] = signed(bits, unit.integers[index].bits) if unit.integers[index].signed else bits
    return numbers


def to_integers(
    unit: MultiFpu,
    numbers: Numbers,
    formats: NDArray[Any],
    roundings: NDArray[Any],
    random: NDArray[np.int64] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Round numbers to integers, and return words and exception flags."""
    whole = np.zeros(len(numbers))
    for index, here in places(roundings):
        finite = np.where(np.isfinite(numbers[here]), numbers[here], 0)
        carries_from = 1 - (0.0 if random is None else random[here] / 2.0**unit.random_bits)
        whole[here] = _rounded(finite, unit.roundings[index], carries_from)
    # NaN becomes the highest integer, as in RISC-V.
    whole = np.where(np.isnan(numbers), np.inf, np.where(np.isinf(numbers), numbers, whole))
    lowest = np.array([integer.lowest for integer in unit.integers])[formats]
    highest = np.array([integer.highest for integer in unit.integers])[formats]
    invalid = (whole < lowest) | (whole > highest)
    words = np.clip(whole, lowest, highest).astype(np.int64) & (1 << unit.word) - 1
    flags = np.where(invalid, Flags.INVALID, np.where(whole != numbers, Flags.INEXACT, 0))
    return words.astype(np.uint32), flags.astype(np.uint8)


def _rounded(numbers: Numbers, rounding: Rounding, carries_from: Numbers | float) -> Numbers:
    # Stochastic rounding rounds up fractions from `carries_from`.
    size, negative = np.abs(numbers), np.signbit(numbers)
    below = np.floor(size)
    rest = size - below
    odd = below % 2 == 1
    match rounding:
        case Rounding.RNE:
            up = (rest > 0.5) | ((rest == 0.5) & odd)
        case Rounding.SR:
            up = rest >= carries_from
        case Rounding.RNA | Rounding.HYBRID:
            up = rest >= 0.5
        case Rounding.RTO:
            up = (rest > 0) & ~odd
        case _:
            away = np.array([rounding.moves_away(side) for side in (False, True)])
            up = (rest > 0) & away[negative.astype(np.intp)]
    rounded: Numbers = np.copysign(below + up, numbers)
    return rounded
