"""Show measured areas and delays as console tables, JSON, CSV and charts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from fp9.system.files import write_whole
from fp9_rtl.synthesis.records import NOTE, Estimate, Ratio, RepeatedRatio, Repeats, Synthesis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "unit",
    "library",
    "mapping",
    "area_um2",
    "nand2",
    "cells",
    "logic_um2",
    "flip_flops",
    "flip_flop_um2",
    "spread",
    "delay_ns",
    "delay_by",
    "yosys",
    "library_sha256",
    "verilog_sha256",
    "note",
)


def table(results: Sequence[Synthesis]) -> Table:
    shown = Table(title="Area and delay in standard cells", caption=_caption(results))
    several = len({result.library for result in results}) > 1
    for heading in ("unit", *(["library"] if several else []), "mapping"):
        shown.add_column(heading)
    # "FF" means flip-flops. "spread" compares the largest with the smallest area of several ABC scripts.
    for heading in ("area um2", "NAND2", "cells", "logic um2", "FF um2", "leak nW", "delay ns", "spread"):
        shown.add_column(heading, justify="right")
    for result, e in _rows(results):
        shown.add_row(
            result.top,
            *([result.library] if several else []),
            e.mapping,
            um2(e.area_um2),
            f"{e.nand2:.0f}",
            f"{e.cells}",
            um2(e.logic_um2),
            um2(e.flip_flop_um2),
            f"{e.leakage_nw:.3g}",
            f"{e.delay_ns:.2f}",
            f"{e.spread:.1%}" if len(e.script_areas_um2) > 1 else "",
        )
    return shown


def um2(area: float) -> str:
    return f"{area:.0f}" if area >= 100 or not area else f"{area:.1f}"


def ratio_table(ratios: Sequence[Ratio]) -> Table:
    shown = Table(title="Units side by side", caption=NOTE)
    for heading in ("unit", "over", "result", "subnormals", "library", "mapping"):
        shown.add_column(heading)
    for heading in ("area ratio", "delay ratio"):
        shown.add_column(heading, justify="right")
    for r in ratios:
        facts = (r.numerator, r.denominator, r.result, r.subnormals, r.library, r.mapping)
        shown.add_row(*facts, f"{r.area:.3f}", f"{r.delay:.3f}")
    return shown


def repeats_table(repeats: Sequence[Repeats]) -> Table:
    orders = ", ".join(sorted({str(len(r.areas_um2)) for r in repeats}))
    shown = Table(title=f"Medians over {orders} orders of the cells", caption=NOTE)
    for heading in ("unit", "library", "mapping"):
        shown.add_column(heading)
    for heading in ("area um2", "deviation", "least", "most", "delay ns", "deviation"):
        shown.add_column(heading, justify="right")
    for r in repeats:
        areas = (um2(r.area_um2), f"{r.area_deviation:.1%}", um2(min(r.areas_um2)), um2(max(r.areas_um2)))
        shown.add_row(r.top, r.library, r.mapping, *areas, f"{r.delay_ns:.2f}", f"{r.delay_deviation:.1%}")
    return shown


def medians_table(medians: Sequence[RepeatedRatio]) -> Table:
    shown = Table(title="Ratios of medians", caption=NOTE)
    for heading in ("unit", "over", "library", "mapping"):
        shown.add_column(heading)
    for heading in ("area ratio", "least", "most", "delay ratio"):
        shown.add_column(heading, justify="right")
    for m in medians:
        shown.add_row(
            *(m.numerator, m.denominator, m.library, m.mapping),
            *(f"{m.area:.3f}", f"{m.low:.3f}", f"{m.high:.3f}", f"{m.delay:.3f}"),
        )
    return shown


def as_json(results: Sequence[Synthesis]) -> str:
    return json.dumps({"note": NOTE, "results": [result.to_dict() for result in results]}, indent=2) + "\n"


def as_csv(results: Sequence[Synthesis]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result, e in _rows(results):
        values = {"unit": result.top, "note": NOTE}
        writer.writerow([values.get(name, getattr(e, name, getattr(result, name, None))) for name in COLUMNS])
    return text.getvalue()


def write(results: Sequence[Synthesis], folder: Path) -> list[Path]:
    """Write synth.json, synth.csv, area_delay.svg and area.svg to a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in ("synth.json", "synth.csv", "area_delay.svg", "area.svg")]
    write_whole(paths[0], as_json(results))
    write_whole(paths[1], as_csv(results))
    area_delay_chart(results, paths[2])
    area_bars(results, paths[3])
    return paths


def area_delay_chart(results: Sequence[Synthesis], path: Path) -> None:
    figure = new_figure(results, height=4.5)
    axes = figure.add_subplot()
    for mapping, marker in zip(_mappings(results), "osD^v", strict=False):
        points = [(e.delay_ns, e.area_um2, result.top) for result, e in _rows(results) if e.mapping == mapping]
        axes.scatter([p[0] for p in points], [p[1] for p in points], marker=marker, label=f"{mapping}")
        for delay, area, name in points:
            axes.annotate(name, (delay, area), fontsize=7, xytext=(4, 3), textcoords="offset points")
    axes.set_xlabel("delay, ns")
    axes.set_ylabel("area, um2")
    axes.margins(x=0.15)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend()
    write_whole(path, svg(figure))


def area_bars(results: Sequence[Synthesis], path: Path) -> None:
    rows = list(_rows(results))
    figure = new_figure(results, height=1.5 + 0.3 * len(rows))
    axes = figure.add_subplot()
    names = [f"{result.top}, {e.mapping}" for result, e in rows]
    logic = [e.logic_um2 for _, e in rows]
    axes.barh(names, logic, label="logic")
    axes.barh(names, [e.flip_flop_um2 for _, e in rows], left=logic, label="flip-flops")
    axes.invert_yaxis()
    axes.set_xlabel("area, um2")
    figure.legend(loc="outside lower center", ncols=2)
    write_whole(path, svg(figure))


def _rows(results: Sequence[Synthesis]) -> list[tuple[Synthesis, Estimate]]:
    return [(result, estimate) for result in results for estimate in result.estimates]


def _mappings(results: Sequence[Synthesis]) -> list[str]:
    return sorted({estimate.mapping for _, estimate in _rows(results)})


def _caption(results: Sequence[Synthesis]) -> str:
    libraries = sorted({result.library for result in results})
    delays = sorted({result.delay_by for result in results})
    return f"{', '.join(libraries)}; delay by {', '.join(delays)}; {NOTE}"


def new_figure(results: Sequence[Synthesis], height: float, title: str = "") -> Figure:
    from matplotlib.figure import Figure  # slow to load

    figure = Figure(figsize=(7, height), layout="constrained")
    figure.suptitle("\n".join(filter(None, (title, _caption(results)))), fontsize=8)
    return figure


def svg(figure: Figure) -> str:
    """Return a figure as SVG text, which is equal for equal figures."""
    from matplotlib import rc_context  # slow to load

    text = io.StringIO()
    with rc_context({"svg.hashsalt": "fp9", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


CHANGED = 0.05
"""Smallest relative difference between two libraries' ratios that a results page reports."""


def changes(libraries: Sequence[str], ratios: Iterable[tuple[str, Sequence[float]]]) -> list[str]:
    """Return a Markdown list of the ratios that differ by more than `CHANGED` between libraries."""
    apart = [
        f"* {label}: {', '.join(f'{ratio:.2f} in {name}' for name, ratio in zip(libraries, values, strict=True))}"
        for label, values in ratios
        if max(values) > min(values) * (1 + CHANGED)
    ]
    if not apart:
        return [f"No ratio differs by more than {CHANGED:.0%} between the libraries."]
    return [f"Ratios that differ by more than {CHANGED:.0%} between the libraries:", "", *apart]


def markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(markdown_row(cells) for cells in [heads, ["---"] * len(heads), *rows])
