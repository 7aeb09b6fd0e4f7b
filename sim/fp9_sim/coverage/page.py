"""The page of functional coverage: what the suites of each catalogue unit meet, and the holes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fp9.system.files import write_whole
from fp9.units import CATALOGUE, Unit
from fp9.vectors import sets as vectors
from fp9_sim.coverage.sampling import FunctionalCoverage, measure

PAGE = "functional.md"
SUITES = ("smoke", "corner")

_NAMED = 12
"""Holes of one point or cross that are named."""

_HEADING = """\
# Functional coverage

What a suite meets of the situations that a unit's spec has, by
[cocotb-coverage](https://github.com/mciepluc/cocotb-coverage) 2.0. In the cocotb regression, with the outputs of the
circuit:

    fp9 sim cast_fp32_ocp_rne --coverage build/coverage.xml

This page is drawn by `fp9 coverage --functional` with the outputs of the golden model, which are the circuit's wherever
a regression passes.

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

| unit | bins | left out | smoke: met | corner: met | holes of corner |
|---|--:|--:|--:|--:|--:|
"""


@dataclass(frozen=True)
class Row:
    """A unit of the page: the coverage of each suite, by its name."""

    unit: str
    suites: dict[str, FunctionalCoverage]

    @property
    def cells(self) -> tuple[str, ...]:
        """The words of the table's row."""
        corner = self.suites["corner"]
        left_out = sum(sum(item.impossible.values()) for item in corner.items)
        met = (f"{self.suites[name].met:,}" for name in SUITES)
        return (self.unit, f"{corner.bins:,}", f"{left_out:,}", *met, f"{len(corner.holes):,}")

    @property
    def holes(self) -> tuple[str, ...]:
        """The holes of the corner suite: a line for each point or cross that has some."""
        lines = []
        for item in self.suites["corner"].items:
            more = len(item.holes) - _NAMED
            words = [*item.holes[:_NAMED], *([f"{more} more"] if more > 0 else [])]
            if item.holes:
                lines.append(f"{item.name}: {', '.join(words)}")
        return tuple(lines)


def draw(
    folder: Path | str,
    units: Iterable[Unit] | None = None,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> list[Row]:
    """Measure the suites of units, the catalogue's by default, and write the page into `folder`; returns its rows.

    Raises OSError where the page cannot be written.
    """
    chosen = list(CATALOGUE.values() if units is None else units)
    rows = []
    for done, unit in enumerate(chosen):
        progress(unit.name, done, len(chosen))
        rows.append(Row(unit.name, {suite: _covered(unit, suite) for suite in SUITES}))
    table = "".join(f"| {' | '.join(row.cells)} |\n" for row in rows)
    holes = "".join(f"* {line}\n" for row in rows for line in row.holes) or "None.\n"
    write_whole(Path(folder) / PAGE, f"{_HEADING}{table}\n## Holes of the corner suites\n\n{holes}")
    return rows


def _covered(unit: Unit, suite: str) -> FunctionalCoverage:
    made = vectors.generate(unit, suite)
    return measure(unit, made.inputs, made.expected)
