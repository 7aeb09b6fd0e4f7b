"""All differences that are tried, by the kind of unit."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Unit
from fp9_compare.diagnosis import flags, formats, roundings, specials
from fp9_compare.diagnosis import sum_differences as sums
from fp9_compare.diagnosis.difference import Difference, changed


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield possible differences of a unit's results, likeliest first, that its specification can express."""
    for source in (roundings, sums, specials, formats):
        for difference in source.differences(unit):
            if _possible(unit, difference):
                yield difference


def flag_differences(unit: Unit) -> Iterator[Difference]:
    """Yield possible differences of a unit's flags, for a unit whose results are explained."""
    return flags.differences(unit)


def _possible(unit: Unit, difference: Difference) -> bool:
    try:
        changed(unit, [difference])
    except ValueError:
        return False
    return True
