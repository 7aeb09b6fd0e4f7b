"""What runs of random specifications covered, from their records."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.units.spread import Spread

from fp9.units.toml import build


def report(records: Sequence[dict[str, Any]], details: bool) -> str:
    """Counts of units, operations, seeds, hours and faults; with `details` fields and values by kind."""
    units = [record for record in records if not record.get("refusal")]
    spread = Spread()
    for record in units:
        spread.add(build(tomllib.loads(record["toml"])))
    faults = Counter(record["class"] for record in records if record["outcome"] == "fault")
    lines = [
        f"{len(units):,} units, {sum(r['operations'] for r in units):,} operations,"
        f" {sum(r.get('refused', 0) for r in units):,} specifications refused,"
        f" {sum(r.get('cpu', 0) for r in units) / 3600:.2f} processor hours",
        f"{unbroken(records):,} units since the last fault; seeds {_ranges([r['seed'] for r in units])}",
        *_by_kind(units, spread),
        *(f"{count} faults: {name}" for name, count in faults.most_common()),
    ]
    return "\n".join([*lines, *(_fields(spread) if details else [])])


def unbroken(records: Sequence[dict[str, Any]]) -> int:
    """Units since the last fault, in the order of their seeds."""
    inverted = sorted(records, key=lambda record: -record["seed"])
    count = 0
    for record in inverted:
        if record["outcome"] == "fault":
            return count
        count += 1
    return count


def _by_kind(units: Sequence[dict[str, Any]], spread: Spread) -> list[str]:
    lines = []
    for kind in sorted(spread.units):
        outcomes = Counter(record["outcome"] for record in units if record["kind"] == kind)
        said = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        met, possible = len(spread.pairs[kind]), spread.possible(kind)
        lines.append(f"{kind}: {spread.units[kind]} units ({said}); {met:,} of {possible:,} pairs of values met")
    return lines


def _fields(spread: Spread) -> list[str]:
    """The values of each field by kind, with the number of units that had them."""
    lines = []
    for kind in sorted(spread.values):
        fields: dict[str, list[str]] = {}
        for (field, value), count in sorted(spread.values[kind].items()):
            fields.setdefault(field, []).append(f"{value} {count}")
        lines += [f"\n{kind}", *(f"  {field}: {', '.join(values)}" for field, values in fields.items())]
    return lines


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as ranges: 1-4, 7."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{low}-{high}" if high > low else str(low) for low, high in found) or "none"
