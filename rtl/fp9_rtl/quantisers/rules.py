"""Scales that are tried for a block. A rule tries one scale or several."""

from __future__ import annotations

from fractions import Fraction

from fp9.formats.blocks import ScaleRule
from fp9.units import Quantiser

_NAMES = ("scale", "second")


def tries(unit: Quantiser) -> tuple[Fraction, ...]:
    """Return the divisor of amax for each try. Return an empty tuple if no rule of the unit has several tries."""
    return next((tuple(map(Fraction, rule.tries)) for rule in unit.rules if rule.tries), ())


def scale_names(unit: Quantiser) -> tuple[str, ...]:
    """Return the names of the fields that hold a block's scales, in the order of the tries."""
    return _NAMES if tries(unit) else _NAMES[:1]


def divisor_of(unit: Quantiser, rule: ScaleRule, turn: int) -> Fraction:
    """Return the divisor of amax in try `turn`. A rule without tries has the same divisor in each try."""
    return Fraction(rule.tries[turn]) if rule.tries else unit.block.divisor(rule)
