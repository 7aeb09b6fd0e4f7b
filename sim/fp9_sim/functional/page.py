"""The page of functional coverage, drawn from the records alone: what the suites of each unit meet, and the holes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole
from fp9.units import CATALOGUE, Unit
from fp9_sim.functional.record import COMPLETE, SUITES, earlier, items_of, read

PAGE = "functional.md"

COLUMNS = ("unit", "bins", "left out", *(f"{suite}: met" for suite in SUITES), f"holes of {COMPLETE}")
"""The columns of the page's table."""

_HEADING = """\
# Functional coverage

What a suite meets of the situations that a unit's spec has, by
[cocotb-coverage](https://github.com/mciepluc/cocotb-coverage) 2.0. In the cocotb regression, with the outputs of the
circuit:

    fp9 sim cast_fp32_ocp_rne --coverage build/coverage.xml

This page is drawn by `fp9 coverage --functional` from the records in `functional/`, which `fp9 campaign --claim
functional` makes, with the outputs of the golden model: they are the circuit's wherever a regression passes. A record
of situations or of vectors that there were before does not count.

The coverage models (`fp9_sim.coverage`) follow from the spec:

* `decoder`, `upcast`: of each format the classes of codes x sign x class of bias; every exponent and significand;
  results x flags.
* `cast`: of each target the classes of source and result, every binade, rounding x sign x last place x position between
  the neighbours (what guard and sticky bit say), results x flags.
* `fma`, `dot`: classes of all operands, every exponent difference x effective operation, every length of cancellation,
  sign x last place x position, results x flags; every distance of a term below the top of a window, of both signs;
  what zero-operand gating finds.
* `mac`: the same, the addend from the port or from the accumulator; every operation behind every other, and on every
  class of accumulator. With chunks: the sums within a chunk, the chunk as it joins the total, and every operation at
  every number of steps. With an exact register: its leading places x sign, wraps, special states x operation, the
  rounding of what it holds.
* `fpu`: for each operation what the unit that does it alone has.

Positions, differences and cancellations come from exact integers; what an accumulator holds before an operation comes
from the golden model; results and flags are those that were given. Bins that cannot occur are left out of a cross, each
for a reason that the model states. With several products, lengths beyond the longest cancellation of one count as that.
Under a window, positions and cancellations are those of the exact sum.

"""


@dataclass(frozen=True)
class Row:
    """A unit of the page: the words of its row, and a line of holes for each point or cross that has some."""

    unit: str
    cells: tuple[str, ...]
    holes: tuple[str, ...] = ()

    @classmethod
    def of(cls, unit: Unit, record: dict[str, Any]) -> Row:
        """The row of a unit by its record."""
        met = (f"{_sum(items_of(record, suite), 'met'):,}" for suite in SUITES)
        items = items_of(record, COMPLETE)
        bins, left_out = _sum(items, "bins"), _sum(items, "left_out")
        missed = bins - _sum(items, "met")
        cells = (unit.name, f"{bins:,}", f"{left_out:,}", *met, f"{missed:,}")
        return cls(unit.name, cells, tuple(_holes(item) for item in items if item["holes"]))


def _sum(items: list[dict[str, Any]], count: str) -> int:
    return sum(item[count] for item in items)


def _holes(item: dict[str, Any]) -> str:
    more = item["bins"] - item["met"] - len(item["holes"])
    return f"{item['name']}: {', '.join([*item['holes'], *([f'{more} more'] if more else [])])}"


def draw(folder: Path | str, units: Iterable[Unit] | None = None) -> list[Row]:
    """Draw the page from the records in `folder`, for the catalogue's units by default; gives its rows.

    Raises ValueError for a record that is none, OSError where the page cannot be written.
    """
    folder = Path(folder)
    rows = [_row(unit, folder) for unit in (CATALOGUE.values() if units is None else units)]
    write_whole(folder / PAGE, text(rows))
    return rows


def _row(unit: Unit, folder: Path) -> Row:
    record, why = read(unit, folder), earlier(unit, folder)
    if record is None or why:
        return Row(unit.name, (unit.name, why or "", *["-"] * (len(COLUMNS) - 2)))
    return Row.of(unit, record)


def text(rows: Iterable[Row]) -> str:
    """The page with some rows."""
    every = list(rows)
    lines = [COLUMNS, ("---", *["--:"] * (len(COLUMNS) - 1)), *(row.cells for row in every)]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    holes = "".join(f"* {line}\n" for row in every for line in row.holes) or "None.\n"
    return f"{_HEADING}{table}\n## Holes of the corner suites\n\n{holes}"
