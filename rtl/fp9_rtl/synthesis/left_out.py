"""Measure how much area each value of a specification field adds to a unit.

For each value, such as a rounding mode, the unit is synthesised with the value and again without the value. The areas
of a field's separate values do not add up to the unit's area, because several values can use the same logic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from fp9.units import Unit
from fp9.units.base import value_words
from fp9_rtl.synthesis.libraries import Library
from fp9_rtl.synthesis.records import NOTE, Synthesis
from fp9_rtl.synthesis.report import um2
from fp9_rtl.synthesis.run import Progress, synthesise_unit


class LeftOut(NamedTuple):
    """Synthesis results of a unit with and without one value of a specification field."""

    field: str
    value: str
    whole: Synthesis  # of the unit with `value`
    rest: Synthesis  # of the unit without `value`

    def to_dict(self) -> dict[str, object]:
        # Area in um2 that the value adds to the unit, by mapping.
        parts = {e.mapping: e.area_um2 - self.rest.estimate(e.mapping).area_um2 for e in self.whole.estimates}
        return {
            "field": self.field,
            "value": self.value,
            "part_um2": parts,
            "whole": self.whole.to_dict(),
            "rest": self.rest.to_dict(),
        }


def units_without(unit: Unit, field: str) -> Iterator[tuple[str, Unit]]:
    """For each value of a list field, yield the value and a copy of the unit without the value."""
    several = [f.name for f in dataclasses.fields(unit) if isinstance(v := getattr(unit, f.name), tuple) and len(v) > 1]
    if field not in several:
        offered = f"give one of {', '.join(several)}" if several else "no field of this unit has several values"
        raise ValueError(f"{unit.name}: field {field!r} given, which does not hold several values; {offered}")
    values = getattr(unit, field)
    for value in values:
        rest = tuple(other for other in values if other != value)
        try:
            changed: dict[str, Any] = {field: rest}
            yield value_words(value), dataclasses.replace(unit, **changed)
        except ValueError:
            continue  # the unit would be invalid without the value


def measure(
    unit: Unit,
    field: str,
    *,
    library: str | Library = "osu018",
    cache: Path | None = None,
    progress: Progress | None = None,
) -> list[LeftOut]:
    """Synthesise a unit with all values of a specification field, and again with one value missing at a time.

    Return the results for each missing value. Raises the same errors as `units_without` and `synthesise_unit`.
    """
    others = list(units_without(unit, field))
    whole = synthesise_unit(unit, library=library, cache=cache, progress=progress)
    return [
        LeftOut(field, value, whole, synthesise_unit(rest, library=library, cache=cache, progress=progress))
        for value, rest in others
    ]


def table(found: Sequence[LeftOut]) -> Table:
    shown = Table(title="Area that each value adds", caption=NOTE)
    for heading in ("unit", "field", "without", "library", "mapping"):
        shown.add_column(heading)
    for heading in ("whole um2", "without um2", "part um2", "part"):
        shown.add_column(heading, justify="right")
    for one in found:
        for e in one.whole.estimates:
            rest = one.rest.estimate(e.mapping).area_um2
            part = e.area_um2 - rest
            shown.add_row(
                *(one.whole.top, one.field, one.value, one.whole.library, e.mapping),
                *(um2(e.area_um2), um2(rest), f"{part:.0f}", f"{part / e.area_um2:.1%}"),
            )
    return shown
