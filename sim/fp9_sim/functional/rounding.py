"""Where an exact magnitude stands on a format's grid, from the oracle's neighbours."""

from __future__ import annotations

from fractions import Fraction

from fp9.formats import Format
from fp9.oracle import neighbours


def rounding_case(magnitude: Fraction, fmt: Format) -> tuple[str, str]:
    """The position between the neighbours, and whether the lower one is an even or odd number of last places."""
    near = neighbours(magnitude, fmt)
    half = Fraction(1, 2)
    if near.excess == 0:
        position = "exact"
    else:
        position = "half" if near.excess == half else "below half" if near.excess < half else "above half"
    return position, "odd" if (near.below / near.ulp).numerator & 1 else "even"
