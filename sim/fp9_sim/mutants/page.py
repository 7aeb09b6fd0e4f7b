"""The page of mutants: how many errors of every kind each unit's suites notice, drawn from the records alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.system.files import write_whole
from fp9.units import CATALOGUE, Unit
from fp9_sim.mutants.kept import standing
from fp9_sim.mutants.kinds import KINDS, Kind
from fp9_sim.records import NO_RECORD

PAGE = "mutants.md"

_HEADING = """\
# Mutants

What the suites notice of single errors put into the circuit that each unit of the catalogue has now, drawn by
`fp9 coverage` from the records in this folder. `equal` are errors that are proven to change nothing; of the others
`smoke` and `corner` are those that these suites notice, `missed` those that `corner` does not. A record of another
circuit, or of vectors that the suites had before, does not count. Where the errors are put:

"""
_COLUMNS = "| unit | kind | seeds | mutants | equal | smoke | corner | missed |\n|---|---|---|--:|--:|--:|--:|--:|\n"


def draw_page(folder: Path | str, units: Iterable[Unit] | None = None) -> Path:
    """Draw the page from the records in `folder`, for the catalogue's units by default; gives its path.

    Raises ValueError for a record that is none, OSError where the page cannot be written.
    """
    folder = Path(folder)
    kinds = "".join(f"- {kind.name}: {kind.says}; levels {', '.join(kind.levels)}\n" for kind in KINDS.values())
    rows = [
        _row(unit, kind, folder) for unit in (CATALOGUE.values() if units is None else units) for kind in KINDS.values()
    ]
    write_whole(folder / PAGE, _HEADING + kinds + "\n" + _COLUMNS + "".join(rows))
    return folder / PAGE


def _row(unit: Unit, kind: Kind, folder: Path) -> str:
    record, why = standing(unit, kind, folder, fp9_rtl.circuit_digest(unit))
    cells = [why or NO_RECORD, *["-"] * 5] if record is None or why else _cells(record)
    return f"| {' | '.join([unit.name, kind.name, *cells])} |\n"


def _cells(record: Mapping[str, Any]) -> list[str]:
    suites = {suite["suite"]: suite for suite in record["suites"]}
    counts = record["drawn"], len(record["equivalent"]), suites["smoke"]["killed"], suites["corner"]["killed"]
    missed = len(suites["corner"]["survivors"])
    return [", ".join(map(str, record["seeds"])), *(f"{count:,}" for count in (*counts, missed))]
