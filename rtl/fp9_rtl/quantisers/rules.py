"""The scales that a block is tried with: one, or one for each try of a rule that has several."""

from __future__ import annotations

from fractions import Fraction

from fp9.scaling import ScaleRule
from fp9.units import Quantiser

_NAMES = ("scale", "second")


def tries(unit: Quantiser) -> tuple[Fraction, ...]:
    """Divisors of the tries of a unit's rules; none where no rule tries."""
    return next((tuple(map(Fraction, rule.tries)) for rule in unit.rules if rule.tries), ())


def scale_names(unit: Quantiser) -> tuple[str, ...]:
    """Fields of the scales of a block, in the order of the tries."""
    return _NAMES if tries(unit) else _NAMES[:1]


def divisor_of(unit: Quantiser, rule: ScaleRule, turn: int) -> Fraction:
    """What amax is divided by in a try; in each the same by a rule that has none."""
    return Fraction(rule.tries[turn]) if rule.tries else unit.block.divisor(rule)
