"""Build the page of the recorded areas of third-party units and of fp9's units."""

from __future__ import annotations

from collections.abc import Sequence

from fp9_rtl.synthesis.libraries import LIBRARIES, SIDE_BY_SIDE
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_sim.third_party.area import Area

_HEADING = """\
# Areas beside comparable projects

`fp9 records pages` builds this page from `records/third-party/areas.json`. A mapping names a file of
`docs/comparable`, which says how fp9 connects the third-party unit. [Comparable projects](comparable-projects.md)
describes the third-party units and the conditions of the measurement.

![Area of fp9's units relative to third-party units](areas.svg)

## Ratios

Each cell has the area of fp9's unit, divided by the area of the third-party unit. The first ratio is for
[area-optimised synthesis, the second for delay-balanced
synthesis](../reference/glossary.md#area-optimised-and-delay-balanced-synthesis). Below 1, fp9's unit is smaller.

"""

_AREAS = """
## {} synthesis

Areas in multiples of a two-input NAND gate ([NAND2](../reference/glossary.md#nand2)):

"""


def page(areas: Sequence[Area]) -> str:
    scripts = (f"{_AREAS.format(name.capitalize())}{_table(areas, name)}" for name in MAPPED)
    return "".join([_HEADING, _summary(areas), *scripts])


def _table(areas: Sequence[Area], mapping: str) -> str:
    lines = ["| mapping | " + " | ".join(f"{name}: third party | fp9 | ratio" for name in SIDE_BY_SIDE) + " |"]
    lines.append("|---|" + "---:|---:|---:|" * len(SIDE_BY_SIDE))
    found = {(area.design, area.library): area for area in areas if area.mapping == mapping}
    for design in sorted({area.design for area in areas}):
        cells = [found.get((design, library)) for library in SIDE_BY_SIDE]
        texts = [f"{a.theirs:,.0f} | {a.ours:,.0f} | {a.ratio:.2f}" if a else "- | - | -" for a in cells]
        lines.append(f"| `{design}` | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def _summary(areas: Sequence[Area]) -> str:
    libraries = sorted({area.library for area in areas}, key=_rank)
    ratios = {(area.design, area.library, area.mapping): f"{area.ratio:.2f}" for area in areas}
    lines = ["| mapping | " + " | ".join(libraries) + " |", "|---|" + "---:|" * len(libraries)]
    for design in sorted({area.design for area in areas}):
        # Each table cell holds two area ratios (fp9 / DUT): for area-optimised and for delay-balanced synthesis.
        cells = (" / ".join(ratios.get((design, library, m), "-") for m in MAPPED) for library in libraries)
        lines.append(f"| `{design}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _rank(library: str) -> tuple[int, str]:
    names = [*LIBRARIES]
    return names.index(library) if library in names else len(names), library
