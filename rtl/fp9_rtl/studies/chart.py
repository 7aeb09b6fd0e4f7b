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
    """A point for each variant, a panel for each mapping: delay to the right, area upwards."""
    mappings = _mappings(outcome)
    figure = _figure(outcome, height=4.4 * len(mappings))
    for number, mapping in enumerate(mappings, start=1):
        axes = figure.add_subplot(len(mappings), 1, number)
        areas, delays = (_figures(outcome, mapping, figure_of) for _, figure_of in _PANELS)
        axes.scatter(delays, areas, s=14, color=f"C{number - 1}")
        for row, delay, area in zip(outcome.rows, delays, areas, strict=True):
            axes.annotate(row.variant.label, (delay, area), fontsize=7, xytext=(4, 3), textcoords="offset points")
        axes.set_xlabel(f"delay, ns (mapping {mapping})")
        axes.set_ylabel("area, um2")
        axes.margins(x=0.2)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    return figure


def _figure(outcome: Outcome, height: float) -> Figure:
    return new_figure([row.synthesis for row in outcome.rows], height, title=outcome.study.title)


def _legend(figure: Figure, axes: Axes) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
