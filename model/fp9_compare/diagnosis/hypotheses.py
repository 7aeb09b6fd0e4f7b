"""List of all possible differences from the specification, for each kind of hardware unit."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Unit
from fp9_compare.diagnosis import exponents, flags, formats, fpus, roundings, specials
from fp9_compare.diagnosis import sum_differences as sums
from fp9_compare.diagnosis.difference import Difference, changed


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield ways in which the results of a unit may differ from its specification, likeliest first."""
    for source in (roundings, sums, specials, exponents, formats, fpus):
        for difference in source.differences(unit):
            if _possible(unit, difference):
                yield difference


def flag_differences(unit: Unit) -> Iterator[Difference]:
    """The unit's results must already be explained."""
    return flags.differences(unit)


def _possible(unit: Unit, difference: Difference) -> bool:
    try:
        changed(unit, [difference])
    except ValueError:
        return False
    return True
