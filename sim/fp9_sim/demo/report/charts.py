"""Draw the charts of a report with Matplotlib. The SVG text is deterministic."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fp9.formats import floor_log2, format

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Summary = Mapping[str, Any]

BLUE, ORANGE, GREEN, GREY = "#2f6690", "#d9822b", "#4f9d69", "#9aa5b1"
GRID, BLACK = "#e4e7eb", "#000000"
PAGE_COLOURS = {GRID: "var(--line)", BLACK: "var(--text)", BLUE: "var(--blue)"}
"""Colours that follow the page's light or dark theme. All other colours are visible in both themes."""
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fp9",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
}
ABOVE: dict[str, Any] = {"frameon": False, "loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
"""Options for a legend above the axes."""
RANGES = ("e4m3", "e5m2", "hfp8_143", "hfp8_152", "hif8")
"""Formats whose ranges are drawn below the magnitudes."""


def _svg(draw: Callable[..., None], height: float, columns: int = 1) -> str:
    from matplotlib import rc_context  # optional
    from matplotlib.figure import Figure  # optional

    with rc_context(STYLE):
        figure = Figure(figsize=(7.2, height), layout="constrained")
        draw(*figure.subplots(1, columns, sharey=True, squeeze=False)[0])
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    drawn = text.getvalue()[text.getvalue().index("<svg") :]
    for fixed, of_the_page in PAGE_COLOURS.items():
        drawn = drawn.replace(fixed, of_the_page)
    return drawn


def accuracy(summary: Summary) -> str:
    """Return a chart of the accuracy on the test digits, by format and accumulator."""
    from matplotlib.patches import Patch  # optional

    rows = summary["accuracy"]
    groups = {name: [r for r in rows if r["format"] == name] for name in dict.fromkeys(r["format"] for r in rows)}
    colors = {"float32": GREY, "fma_fp32": BLUE, "dlfloat": ORANGE}

    def draw(axes: Axes) -> None:
        for place, group in enumerate(groups.values()):
            width = 0.8 / len(group)
            for index, row in enumerate(group):
                x = place + width * (index - (len(group) - 1) / 2)
                bar = axes.bar(x, 100 * row["accuracy"], min(width, 0.4), color=colors[row["engine"]])
                axes.bar_label(bar, fmt="%.1f", padding=2)
        axes.set_xticks(range(len(groups)), [short(name) for name in groups])
        axes.set_ylim(0, 112)
        axes.set_yticks(range(0, 101, 20))
        axes.set_ylabel("test digits right, %")
        axes.grid(axis="x", visible=False)
        handles = [Patch(color=color, label=engine) for engine, color in colors.items()]
        axes.legend(handles=handles, title="accumulator", ncols=3, **ABOVE)

    return _svg(draw, 2.9)


def short(name: str) -> str:
    """Return a format's name without its parameters."""
    return name.partition("(")[0]


def magnitudes(summary: Summary) -> str:
    """Return a histogram of the layer's values by binade. It also shows the range of each format."""

    def draw(axes: Axes) -> None:
        for tensor, color in zip(summary["tensors"], (BLUE, GREEN, ORANGE), strict=True):
            binades = range(tensor["lowest_binade"], tensor["lowest_binade"] + len(tensor["binades"]))
            total = sum(tensor["binades"]) or 1
            shares = [100 * count / total for count in tensor["binades"]]
            axes.step(binades, shares, where="mid", color=color, label=tensor["name"], linewidth=1.6)
            axes.fill_between(binades, shares, step="mid", color=color, alpha=0.15)
        for row, name in enumerate(RANGES, 1):
            low, high = _binades(name)
            axes.plot([low, high], [-3.2 * row] * 2, color=GREY, linewidth=4, solid_capstyle="butt")
            axes.text(high + 0.5, -3.2 * row, name, va="center", fontsize=8)
        axes.set_xlabel("binade: exponent of the value's leading bit")
        axes.set_ylabel("share of the non-zero values, %")
        axes.set_yticks([tick for tick in axes.get_yticks() if tick >= 0])
        axes.legend(frameon=False)

    return _svg(draw, 3.6)


def _binades(name: str) -> tuple[int, int]:
    fmt = format(name)
    return floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.value_of(fmt.max_code))


def errors(summary: Summary) -> str:
    """Return a chart of the products' relative errors, from quantisation and from accumulation."""
    rows = summary["layer"]
    names = [f"{r['direction']}: {short(r['a'])} x {short(r['b'])}, {r['result']}" for r in rows]

    def draw(axes: Axes) -> None:
        places = range(len(rows))
        axes.scatter([r["quantisation_error"] for r in rows], places, color=BLUE, label="quantisation", zorder=3)
        axes.scatter([r["accumulation_error"] for r in rows], places, color=ORANGE, label="accumulation", zorder=3)
        axes.set_yticks(list(places), names)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("relative error (Frobenius norm)")
        axes.legend(ncols=2, **ABOVE)

    return _svg(draw, 1.2 + 0.26 * len(rows))


def areas(summary: Summary) -> str:
    """Return a chart of the area of each unit with both mappings. Each bar is split into logic and flip-flops."""
    rows = [
        (unit["unit"], estimate)
        for unit in summary["units"]
        if unit["synthesis"]
        for estimate in unit["synthesis"]["estimates"]
    ]
    names = [f"{name}, {estimate['mapping']}" for name, estimate in rows]
    logic = [estimate["logic_um2"] / 1000 for _, estimate in rows]
    held = [estimate["flip_flop_um2"] / 1000 for _, estimate in rows]

    def draw(axes: Axes) -> None:
        axes.barh(names, logic, color=BLUE, label="logic", height=0.6)
        bars = axes.barh(names, held, left=logic, color=ORANGE, label="flip-flops", height=0.6)
        axes.bar_label(bars, [f"{estimate['delay_ns']:.1f} ns" for _, estimate in rows], padding=3)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("area, thousand um2 (beside it the longest path)")
        axes.legend(ncols=2, **ABOVE)

    return _svg(draw, 1.2 + 0.27 * len(rows))


COSTS = {
    "training": ("increase in training loss over float32, nats", BLUE, "o"),
    "conversion": ("divergence after conversion, nats", ORANGE, "s"),
}
"""Kinds of loss in the chart of recipes, with label, colour and marker."""


SILICON: dict[str, Callable[[Summary], float]] = {
    "area of a multiply-add unit, thousand um2": lambda row: estimate(row, row["energy"]["mapping"])["area_um2"] / 1000,
    "energy of an operation of the layer, pJ": lambda row: row["energy"]["total_fj"] / 1000,
}
"""Functions for the area and the energy of a recipe's unit. Both come from the netlist whose energy was measured."""


def recipes(summary: Summary) -> str:
    """Return a chart of recipes: loss against the area and the energy of a unit that computes the recipe."""

    def draw(*charts: Axes) -> None:
        for axes, (label, taken) in zip(charts, SILICON.items(), strict=True):
            for cost, (words, color, mark) in COSTS.items():
                points = [(taken(row), row[cost]) for row in summary["recipes"]]
                axes.scatter(*zip(*points, strict=True), color=color, marker=mark, label=words, zorder=3)
            for number, row in enumerate(sorted(summary["recipes"], key=taken)):
                edge, away = (min, -14) if number % 2 else (max, 7)  # neighbours' names keep clear of each other
                place = (taken(row), edge(row[cost] for cost in COSTS))
                axes.annotate(row["name"], place, (0, away), textcoords="offset points", ha="center", fontsize=8)
            axes.set_yscale("log")
            axes.margins(x=0.3, y=0.25)
            axes.set_xlabel(label)
        charts[0].set_ylabel("nats per character")
        handles, names = charts[0].get_legend_handles_labels()
        charts[0].figure.legend(handles, names, frameon=False, loc="outside upper center", ncols=2)

    return _svg(draw, 3.4, len(SILICON))


def estimate(row: Summary, mapping: str) -> Summary:
    """Return the area and delay of a row's unit for one mapping."""
    found: Summary = next(e for e in row["synthesis"]["estimates"] if e["mapping"] == mapping)
    return found
