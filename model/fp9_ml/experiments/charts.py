"""Charts of the values that were measured to test papers' claims."""

from __future__ import annotations

import io
import re
import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BIASED = re.compile(r"(\w+)\(bias=(-?\d+)\)")


# Maximum number of characters in a line below the axes of a chart.
_LINE = 60


def draw(record: dict[str, Any]) -> str:
    """Return an SVG chart of the medians over the random seeds."""
    names = list(record["runs"][0]["values"])
    middle = {name: float(np.median([run["values"][name] for run in record["runs"]])) for name in names}
    curves: dict[str, list[tuple[int, float]]] = {}
    for name, value in middle.items():
        if found := _BIASED.fullmatch(name):
            curves.setdefault(found[1], []).append((int(found[2]), value))
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    if curves:
        _curves(axes, curves, {name: value for name, value in middle.items() if not _BIASED.fullmatch(name)})
        axes.set_ylabel(record["quantity"])
    else:
        _points(axes, middle)
        axes.set_xlabel(textwrap.fill(record["quantity"], _LINE))
    seeds = ", ".join(str(run["seed"]) for run in record["runs"])
    axes.set_title(f"{record['name']}: median of seeds {seeds}", fontsize="medium")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "fp9", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _curves(axes: Axes, curves: dict[str, list[tuple[int, float]]], levels: dict[str, float]) -> None:
    for name, points in curves.items():
        axes.plot([bias for bias, _ in points], [value for _, value in points], marker="o", markersize=3, label=name)
    for i, (name, value) in enumerate(levels.items()):
        axes.axhline(value, linestyle="--", linewidth=0.8, color=f"C{len(curves) + i}", label=name)
    axes.set(xlabel="bias", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _points(axes: Axes, values: dict[str, float]) -> None:
    # The axis is logarithmic, so a value of zero is drawn at the chart's left edge.
    left = min(value for value in values.values() if value > 0) / 2
    shown = [max(value, left) for value in values.values()]
    axes.plot(shown, range(len(values)), "o", markersize=5)
    for place, (x, value) in enumerate(zip(shown, values.values(), strict=True)):
        axes.annotate(f"{value:.3g}", (x, place), (6, 0), textcoords="offset points", va="center", fontsize="small")
    axes.set_yticks(range(len(values)), list(values), fontsize="small")
    axes.set(xscale="log", xlim=(left / 1.5, max(shown) * 3))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
