"""Draw the charts of cost studies as SVG text. Equal results give equal text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fp9_rtl.studies.study import Chart, Outcome
from fp9_rtl.synthesis.records import Estimate
from fp9_rtl.synthesis.report import new_figure, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

_PANELS: tuple[tuple[str, Callable[[Estimate], float]], ...] = (
    ("area, um2", lambda estimate: estimate.area_um2),
    ("delay, ns", lambda estimate: estimate.delay_ns),
)
_MARKERS = "osD^v"


def draw(outcomes: Sequence[Outcome]) -> str:
    """Return SVG text with the charts of a study, stacked by cell library."""
    # The study must have a measured variant in every cell library.
    study = outcomes[0].study
    height, kind = {
        Chart.BARS: (1.0 + 0.42 * len(outcomes[0].rows), _bars),
        Chart.LINES: (3.2, _lines),
        Chart.SCATTER: (5.6 * len(outcomes[0].mappings), _scatter),
    }[study.chart]
    results = [row.synthesis for outcome in outcomes for row in outcome.rows]
    figure = new_figure(results, height * len(outcomes) + 0.6, title=study.title)
    parts: list[SubFigure] = list(figure.subfigures(len(outcomes), 1, squeeze=False)[:, 0])
    for part, outcome in zip(parts, outcomes, strict=True):
        kind(part, outcome)
    if study.chart is Chart.SCATTER:
        figure.draw_without_rendering()  # compute the layout, so that the distances between points are known
        for part, outcome in zip(parts, outcomes, strict=True):
            _label_all(part, outcome)
    else:
        figure.legend(*parts[0].axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return svg(figure)


def _figures(outcome: Outcome, mapping: str, figure_of: Callable[[Estimate], float]) -> list[float]:
    return [figure_of(row.synthesis.estimate(mapping)) for row in outcome.rows]


def _bars(figure: SubFigure, outcome: Outcome) -> None:
    mappings, rows = outcome.mappings, outcome.rows
    panels: Sequence[Axes] = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    thickness = 0.8 / len(mappings)
    for number, mapping in enumerate(mappings):
        places = [place + (number - (len(mappings) - 1) / 2) * thickness for place in range(len(rows))]
        for axes, (_, figure_of) in zip(panels, _PANELS, strict=True):
            axes.barh(places, _figures(outcome, mapping, figure_of), thickness, label=f"{mapping}")
        # The area ratio is printed at the end of each area bar.
        shown = [f" {row.ratios[number].area:.2f}" if row.ratios else "" for row in rows]
        panels[0].bar_label(panels[0].containers[number], shown, fontsize=7)  # type: ignore[arg-type]
    panels[0].set_yticks(range(len(rows)), [row.variant.label for row in rows])
    panels[0].invert_yaxis()
    panels[0].margins(x=0.12)
    for axes, (name, _) in zip(panels, _PANELS, strict=True):
        axes.set_xlabel(f"{name} in {outcome.library}")


def _lines(figure: SubFigure, outcome: Outcome) -> None:
    panels: Sequence[Axes] = figure.subplots(1, 2)
    labels = [row.variant.label for row in outcome.rows]
    for axes, (name, figure_of) in zip(panels, _PANELS, strict=True):
        for mapping, marker in zip(outcome.mappings, _MARKERS, strict=False):
            axes.plot(labels, _figures(outcome, mapping, figure_of), marker=marker, label=f"{mapping}")
        axes.set_xlabel(outcome.study.axis)
        axes.set_ylabel(f"{name} in {outcome.library}")
        axes.set_ylim(bottom=0)


def _scatter(figure: SubFigure, outcome: Outcome) -> None:
    for number, mapping in enumerate(outcome.mappings, start=1):
        axes = figure.add_subplot(len(outcome.mappings), 1, number)
        areas, delays = (_figures(outcome, mapping, figure_of) for _, figure_of in _PANELS)
        axes.scatter(delays, areas, s=14, color=f"C{number - 1}")
        axes.set(xlabel=f"delay, ns ({mapping})", ylabel=f"area in {outcome.library}, um2")
        axes.set(xscale="log", yscale="log")
        axes.margins(x=0.15, y=0.08)


def _label_all(figure: SubFigure, outcome: Outcome) -> None:
    for axes, mapping in zip(figure.axes, outcome.mappings, strict=True):
        areas, delays = (_figures(outcome, mapping, figure_of) for _, figure_of in _PANELS)
        _label(axes, [row.variant.label for row in outcome.rows], list(zip(delays, areas, strict=True)))


_LABEL_SIZE = 6


def _label(axes: Axes, labels: Sequence[str], points: Sequence[tuple[float, float]]) -> None:
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
    left, bottom, right, top = box
    return any(left < b[2] and b[0] < right and bottom < b[3] and b[1] < top for b in taken)
