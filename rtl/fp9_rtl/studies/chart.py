"""Charts of studies, as SVG text: the same figures give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fp9_rtl.studies.study import Chart, Outcome
from fp9_rtl.synthesis.records import Estimate
from fp9_rtl.synthesis.report import new_figure, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS: tuple[tuple[str, Callable[[Estimate], float]], ...] = (
    ("area, um2", lambda estimate: estimate.area_um2),
    ("delay, ns", lambda estimate: estimate.delay_ns),
)
_MARKERS = "osD^v"


def draw(outcome: Outcome) -> str:
    """The chart of a study with at least one row."""
    kind = {Chart.BARS: _bars, Chart.LINES: _lines, Chart.SCATTER: _scatter}[outcome.study.chart]
    return svg(kind(outcome))


def _mappings(outcome: Outcome) -> list[str]:
    return [estimate.mapping for estimate in outcome.rows[0].synthesis.estimates]


def _figures(outcome: Outcome, mapping: str, figure_of: Callable[[Estimate], float]) -> list[float]:
    return [figure_of(row.synthesis.estimate(mapping)) for row in outcome.rows]


def _bars(outcome: Outcome) -> Figure:
    """Area and delay of each variant as bars, area ratios written at theirs."""
    mappings, rows = _mappings(outcome), outcome.rows
    figure = _figure(outcome, height=1.6 + 0.42 * len(rows))
    panels: Sequence[Axes] = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    thickness = 0.8 / len(mappings)
    for number, mapping in enumerate(mappings):
        places = [place + (number - (len(mappings) - 1) / 2) * thickness for place in range(len(rows))]
        for axes, (_, figure_of) in zip(panels, _PANELS, strict=True):
            axes.barh(places, _figures(outcome, mapping, figure_of), thickness, label=f"mapping {mapping}")
        shown = [f" {row.ratios[number].area:.2f}" if row.ratios else "" for row in rows]
        panels[0].bar_label(panels[0].containers[number], shown, fontsize=7)  # type: ignore[arg-type]
    panels[0].set_yticks(range(len(rows)), [row.variant.label for row in rows])
    panels[0].invert_yaxis()
    panels[0].margins(x=0.12)
    for axes, (name, _) in zip(panels, _PANELS, strict=True):
        axes.set_xlabel(name)
    _legend(figure, panels[0])
    return figure


def _lines(outcome: Outcome) -> Figure:
    """Area and delay over the labels, evenly spaced in their order."""
    figure = _figure(outcome, height=3.6)
    panels: Sequence[Axes] = figure.subplots(1, 2)
    labels = [row.variant.label for row in outcome.rows]
    for axes, (name, figure_of) in zip(panels, _PANELS, strict=True):
        for mapping, marker in zip(_mappings(outcome), _MARKERS, strict=False):
            axes.plot(labels, _figures(outcome, mapping, figure_of), marker=marker, label=f"mapping {mapping}")
        axes.set_xlabel(outcome.study.axis)
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0)
    _legend(figure, panels[0])
    return figure


def _scatter(outcome: Outcome) -> Figure:
    """A point for each variant, a panel for each mapping: delay to the right, area upwards, both logarithmic."""
    mappings = _mappings(outcome)
    figure = _figure(outcome, height=5.6 * len(mappings))
    for number, mapping in enumerate(mappings, start=1):
        axes = figure.add_subplot(len(mappings), 1, number)
        areas, delays = (_figures(outcome, mapping, figure_of) for _, figure_of in _PANELS)
        axes.scatter(delays, areas, s=14, color=f"C{number - 1}")
        axes.set(xlabel=f"delay, ns (mapping {mapping})", ylabel="area, um2", xscale="log", yscale="log")
        axes.margins(x=0.15, y=0.08)
    figure.draw_without_rendering()  # the layout, which says how far points lie apart
    for number, axes in enumerate(figure.axes):
        areas, delays = (_figures(outcome, mappings[number], figure_of) for _, figure_of in _PANELS)
        _label(axes, [row.variant.label for row in outcome.rows], list(zip(delays, areas, strict=True)))
    return figure


_LABEL_SIZE = 6
"""Points of a label's font; a letter is six tenths as wide, a line a quarter higher."""


def _label(axes: Axes, labels: Sequence[str], points: Sequence[tuple[float, float]]) -> None:
    """A label beside each point where it covers neither a point nor another label, with a line where it is far off."""
    unit = axes.figure.dpi / 72
    places = [tuple(place / unit for place in axes.transData.transform(point)) for point in points]
    right = axes.bbox.x1 / unit
    taken = [(x - 2, y - 2, x + 2, y + 2) for x, y in places]
    for label, point, (x, y) in sorted(zip(labels, points, places, strict=True), key=lambda one: -one[2][1]):
        width, height = 0.6 * _LABEL_SIZE * len(label), 1.25 * _LABEL_SIZE
        offsets = [
            (dx, dy - height / 2)
            for far in range(0, 40)
            for dy in (4 * far, -4 * far)
            for dx in (5 + 2 * far, -5 - 2 * far - width)
            if x + dx + width < right
        ]
        dx, dy = next(
            (o for o in offsets if not _covers((x + o[0], y + o[1], x + o[0] + width, y + o[1] + height), taken)),
            offsets[0],
        )
        taken.append((x + dx, y + dy, x + dx + width, y + dy + height))
        line = {"arrowstyle": "-", "linewidth": 0.4, "color": "0.6"} if abs(dy + height / 2) > height else None
        axes.annotate(label, point, (dx, dy), textcoords="offset points", fontsize=_LABEL_SIZE, arrowprops=line)


def _covers(box: tuple[float, ...], taken: Sequence[tuple[float, ...]]) -> bool:
    """Whether a box (left, bottom, right, top) meets one of others."""
    left, bottom, right, top = box
    return any(left < b[2] and b[0] < right and bottom < b[3] and b[1] < top for b in taken)


def _figure(outcome: Outcome, height: float) -> Figure:
    return new_figure([row.synthesis for row in outcome.rows], height, title=outcome.study.title)


def _legend(figure: Figure, axes: Axes) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
