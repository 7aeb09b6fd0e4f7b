"""Study of the area of submodules, with a stacked bar and a table row for each unit."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fp9.system.files import write_whole
from fp9.units import CATALOGUE, Unit
from fp9_rtl.synthesis.breakdown import Breakdown, as_record, breakdown
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, Library
from fp9_rtl.synthesis.records import NOTE
from fp9_rtl.synthesis.report import changes, markdown_row, svg, um2
from fp9_rtl.synthesis.run import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "submodules"

TITLE = "Area by submodule"
QUESTION = "How much area does each submodule of each catalogue unit take?"

COLUMNS = ("unit", "submodule", "mapping", "area_um2", "library", "note")


def measure(
    units: Sequence[Unit] = tuple(CATALOGUE.values()),
    libraries: Sequence[str | Library] = SIDE_BY_SIDE,
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> list[Breakdown]:
    """Return the area of each submodule of each unit in each library, with the area-optimised mapping.

    Raises the same errors as `breakdown`.
    """
    found: list[Breakdown] = []
    for unit, library in itertools.product(units, libraries):
        found.append(breakdown(unit, library=library, cache=cache))
        if progress:
            progress(f"{NAME}: {unit.name}", len(found), len(units) * len(libraries))
    return found


def write(found: Sequence[Breakdown], folder: Path) -> list[Path]:
    """Write submodules.md, submodules.json, submodules.csv and submodules.svg to a folder, and return their paths."""
    texts = {".md": page(found), ".json": as_json(found), ".csv": as_csv(found)}
    for suffix, text in texts.items():
        write_whole(folder / f"{NAME}{suffix}", text)
    return [*(folder / f"{NAME}{suffix}" for suffix in texts), write_chart(found, folder)]


def write_chart(found: Sequence[Breakdown], folder: Path) -> Path:
    path = folder / f"{NAME}.svg"
    write_whole(path, draw(found))
    return path


def page(found: Sequence[Breakdown]) -> str:
    libraries = _libraries(found)
    heads = ["unit", "library", "submodules", "all", "flat", "all / flat"]
    lines = [markdown_row(heads), markdown_row(["---", "---", "---", "---:", "---:", "---:"])]
    for result in found:
        areas = ", ".join(f"{name} {um2(area)}" for name, area in result.submodules)
        sums = [um2(result.total_um2), um2(result.flat_um2), f"{result.over_flat:.3f}"]
        lines.append(markdown_row([result.top, result.library, areas, *sums]))
    parts = [f"# {TITLE}", QUESTION, "\n".join(lines)]
    if len(libraries) > 1:
        of_units = zip(*([b for b in found if b.library == library] for library in libraries), strict=True)
        over_flat = [(f"{of[0].top}, all / flat", [b.over_flat for b in of]) for of in of_units]
        parts.append("\n".join(changes(libraries, over_flat)))
    basis = (
        f"Areas are in um2, {found[0].mapping}; {NOTE}. For this study, synthesis keeps the boundaries of submodules. "
        'It cannot share or simplify logic across them, so the sum ("all") differs from the area of the flat netlist '
        '("flat"). Every other page states the flat area.'
    )
    parts[2:2] = [basis, f"![{TITLE}]({NAME}.svg)"]
    return "\n\n".join([*parts, f"Measure again: `fp9 study {NAME}`"]) + "\n"


def as_json(found: Sequence[Breakdown]) -> str:
    return json.dumps({"question": QUESTION, "note": NOTE, "units": [as_record(b) for b in found]}, indent=1) + "\n"


def as_csv(found: Sequence[Breakdown]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for b in found:
        writer.writerows([b.top, name, b.mapping, area, b.library, NOTE] for name, area in b.submodules)
    return text.getvalue()


def draw(found: Sequence[Breakdown]) -> str:
    """Return SVG text with one stacked bar for each unit."""
    from matplotlib.figure import Figure  # slow to load

    libraries = _libraries(found)
    height = 1.8 + 0.3 * len(found) / len(libraries)
    figure = Figure(figsize=(2 + 5 * len(libraries), height), layout="constrained")
    figure.suptitle(f"{TITLE}, {found[0].mapping}, boundaries kept\n{NOTE}", fontsize=8)
    panels = figure.subplots(1, len(libraries), sharey=True, squeeze=False)[0]
    for axes, library in zip(panels, libraries, strict=True):
        _stack(axes, [b for b in found if b.library == library], _submodules(found))
        axes.set_title(library, fontsize=8)
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=7)
    return svg(figure)


def _stack(axes: Axes, found: Sequence[Breakdown], names: Sequence[str]) -> None:
    left = [0.0] * len(found)
    for number, name in enumerate(names):
        areas = {place: dict(b.submodules)[name] for place, b in enumerate(found) if name in dict(b.submodules)}
        hatch = _HATCHES[number // _COLOURS % len(_HATCHES)]
        starts = [left[place] for place in areas]
        axes.barh([*areas], [*areas.values()], left=starts, label=name, color=f"C{number % _COLOURS}", hatch=hatch)
        for place, area in areas.items():
            left[place] += area
    axes.set_yticks(range(len(found)), [result.top for result in found])
    axes.margins(y=0.01)
    axes.set_xlabel("area, um2")


_COLOURS = 10

_HATCHES = ("", "//", "..", "xx")


def _submodules(found: Sequence[Breakdown]) -> list[str]:
    return list(dict.fromkeys(name for result in found for name, _ in result.submodules))


def _libraries(found: Sequence[Breakdown]) -> list[str]:
    return list(dict.fromkeys(result.library for result in found))
