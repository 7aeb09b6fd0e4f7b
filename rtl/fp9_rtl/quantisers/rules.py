"""Candidate scales of a block: one or two, depending on the scale rule."""

from __future__ import annotations

from fractions import Fraction

from fp9.formats.blocks import ScaleRule
from fp9.units import Quantiser

_NAMES = ("scale", "second")


def tries(unit: Quantiser) -> tuple[Fraction, ...]:
    """Return the divisors of amax that give a block's candidate scales.

    If no scale rule of the unit compares several candidate scales, return an empty tuple.
    """
    return next((tuple(map(Fraction, rule.tries)) for rule in unit.rules if rule.tries), ())


def scale_names(unit: Quantiser) -> tuple[str, ...]:
    """Return the signal names of a block's candidate scales."""
    return _NAMES if tries(unit) else _NAMES[:1]


def divisor_of(unit: Quantiser, rule: ScaleRule, turn: int) -> Fraction:
    """Return the constant by which amax is divided for the candidate scale with the index `turn`."""
    return Fraction(rule.tries[turn]) if rule.tries else unit.block.divisor(rule)
