"""All ways to differ that are tried, by the kind of unit."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Unit
from fp9_compare.diagnosis import flags, formats, roundings, specials
from fp9_compare.diagnosis import sum_differences as sums
from fp9_compare.diagnosis.difference import Difference, changed


def differences(unit: Unit) -> Iterator[Difference]:
    """What may be different about the results of a unit, the likeliest first; only what its spec can say."""
    for source in (roundings, sums, specials, formats):
        for difference in source.differences(unit):
            if _possible(unit, difference):
                yield difference


def flag_differences(unit: Unit) -> Iterator[Difference]:
    """What may be different about the flags of a unit whose results are explained."""
    return flags.differences(unit)


def _possible(unit: Unit, difference: Difference) -> bool:
    """Whether the spec can be changed so, and is another one then."""
    try:
        changed(unit, [difference])
    except ValueError:
        return False
    return True
