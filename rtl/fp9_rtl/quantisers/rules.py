"""Candidate scales of a block. A scale rule of a block format tries one or two scales."""

from __future__ import annotations

from fractions import Fraction

from fp9.formats.blocks import ScaleRule
from fp9.units import Quantiser

_NAMES = ("scale", "second")


def tries(unit: Quantiser) -> tuple[Fraction, ...]:
    """Return the divisor of amax for each candidate scale, or an empty tuple if every rule has a single scale."""
    return next((tuple(map(Fraction, rule.tries)) for rule in unit.rules if rule.tries), ())


def scale_names(unit: Quantiser) -> tuple[str, ...]:
    """Return the names of the fields that hold a block's candidate scales, in the order of `tries`."""
    return _NAMES if tries(unit) else _NAMES[:1]


def divisor_of(unit: Quantiser, rule: ScaleRule, turn: int) -> Fraction:
    """Return the divisor of amax for the candidate scale with the index `turn`.

    A scale rule with a single scale has the same divisor for every candidate scale.
    """
    return Fraction(rule.tries[turn]) if rule.tries else unit.block.divisor(rule)
