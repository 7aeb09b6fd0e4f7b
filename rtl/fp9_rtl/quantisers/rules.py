"""Scales that are tried for a block: one scale, or one for each try of a rule with several tries."""

from __future__ import annotations

from fractions import Fraction

from fp9.scaling import ScaleRule
from fp9.units import Quantiser

_NAMES = ("scale", "second")


def tries(unit: Quantiser) -> tuple[Fraction, ...]:
    """Return the divisors of the tries of a unit's rules; empty if no rule has tries."""
    return next((tuple(map(Fraction, rule.tries)) for rule in unit.rules if rule.tries), ())


def scale_names(unit: Quantiser) -> tuple[str, ...]:
    """Return the field names of a block's scales, in the order of the tries."""
    return _NAMES if tries(unit) else _NAMES[:1]


def divisor_of(unit: Quantiser, rule: ScaleRule, turn: int) -> Fraction:
    """Return the divisor of amax in a try; a rule without tries has the same divisor in each."""
    return Fraction(rule.tries[turn]) if rule.tries else unit.block.divisor(rule)
