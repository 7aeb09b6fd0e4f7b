"""Draw the charts of the demonstration's report with Matplotlib, as deterministic SVG."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fp9.formats import floor_log2, format

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Summary = Mapping[str, Any]

BLUE, ORANGE, GREEN, GREY = "#2f6690", "#d9822b", "#4f9d69", "#9aa5b1"
GRID, BLACK = "#e4e7eb", "#000000"
# Colours that follow the page's light or dark theme. All other colours are visible in both themes.
PAGE_COLOURS = {GRID: "var(--line)", BLACK: "var(--text)", BLUE: "var(--blue)"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fp9",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
}
# Options for a legend above the axes.
ABOVE: dict[str, Any] = {"frameon": False, "loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
# Formats whose ranges are drawn below the histogram of magnitudes.
RANGES = ("e4m3", "e5m2", "hfp8_143", "hfp8_152", "hif8")


# Widths in inches of the two drawings of a chart. The page's style sheet shows only one drawing.
WIDE, NARROW = 9.6, 3.9


def _both(draw: Callable[..., None], height: float, panels: int = 1, narrow_height: float | None = None) -> str:
    wide = _svg(draw, WIDE, height, (1, panels), "wide")
    narrow = _svg(draw, NARROW, narrow_height or height * panels, (panels, 1), "narrow")
    return f'<div class="chart on-wide">{wide}</div><div class="chart on-narrow">{narrow}</div>'


def _svg(draw: Callable[..., None], width: float, height: float, grid: tuple[int, int], name: str) -> str:
    from matplotlib import rc_context  # optional
    from matplotlib.figure import Figure  # optional

    with rc_context({**STYLE, "svg.hashsalt": f"fp9 {name}"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(*figure.subplots(*grid, squeeze=False).flat)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    drawn = text.getvalue()[text.getvalue().index("<svg") :]
    for fixed, of_the_page in PAGE_COLOURS.items():
        drawn = drawn.replace(fixed, of_the_page)
    return drawn


def _rows(axes: Axes, names: list[str], bars: float = 0.5) -> float:
    # A narrow chart shows each name above its row.
    axes.set_ylim(len(names) - 0.4, -0.8)
    axes.grid(axis="y", visible=False)
    place = axes.get_subplotspec()
    if axes.figure.bbox.width < axes.figure.dpi * (WIDE + NARROW) / 2:
        axes.set_yticks([])
        for y, name in enumerate(names):
            axes.text(0.01, y - 0.42, name, transform=axes.get_yaxis_transform(), va="center", fontsize=9)
        return bars / 2
    first = place is None or place.colspan.start == 0
    axes.set_yticks(range(len(names)), names if first else [""] * len(names))
    return bars


def _log_with_zero(axes: Axes, values: Iterable[float]) -> Callable[[float], float]:
    # If a value is zero, the axis has the tick "0" at its left end.
    given = list(values)
    positive = [value for value in given if value > 0]
    low, high = math.floor(math.log10(min(positive, default=1e-9))), math.ceil(math.log10(max(positive, default=1)))
    zero, exponents = 10.0 ** (low - 1 - (high - low) / 8), range(low, high + 1, 1 + (high - low) // 5)
    ticks = {10.0**e: f"$10^{{{e}}}$" for e in exponents} | ({zero: "0"} if len(positive) < len(given) else {})
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_xlim(min(ticks) / 1.5, 1.5 * 10.0**high)
    return lambda value: value if value > 0 else zero


def wrong_digits(summary: Summary) -> str:
    rows, tested = summary["accuracy"], summary["network"]["test"]
    groups = {name: [r for r in rows if r["format"] == name] for name in dict.fromkeys(r["format"] for r in rows)}
    colors = {"float32": GREY, "fma_fp32": BLUE, "dlfloat": ORANGE}

    def draw(axes: Axes) -> None:
        for index, group in enumerate(groups.values()):
            width = 0.8 / max(len(group), 2)
            for number, row in enumerate(group):
                y = index + width * (number - (len(group) - 1) / 2)
                bar = axes.barh(y, round(tested * (1 - row["accuracy"])), 0.9 * width, color=colors[row["engine"]])
                axes.bar_label(bar, padding=3)
        axes.set_yticks(range(len(groups)), [short(name) for name in groups])
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.set_xlabel(f"digits read wrongly, of {tested}")
        axes.grid(axis="y", visible=False)
        axes.legend([Patch(color=color) for color in colors.values()], colors, ncols=3, **ABOVE)

    from matplotlib.patches import Patch  # optional

    return _both(draw, 1.1 + 0.4 * len(groups))


def short(name: str) -> str:
    return name.partition("(")[0]


def magnitudes(summary: Summary) -> str:
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
            axes.text(high + 0.5, -3.2 * row, name, va="center", fontsize=9)
        axes.set_xlabel("binade: exponent of the value's leading bit")
        axes.set_ylabel("share of the non-zero values, %")
        axes.set_yticks([tick for tick in axes.get_yticks() if tick >= 0])
        axes.legend(frameon=False)

    return _both(draw, 3.6, narrow_height=3.2)


def _binades(name: str) -> tuple[int, int]:
    fmt = format(name)
    return floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.value_of(fmt.max_code))


def errors(summary: Summary) -> str:
    rows = summary["layer"]
    names = [f"{r['direction']}: {pair(r)}, {r['result']}" for r in rows]
    kinds = {"quantisation_error": ("quantisation", BLUE), "accumulation_error": ("accumulation", ORANGE)}

    def draw(*charts: Axes) -> None:
        for axes, (key, (label, color)) in zip(charts, kinds.items(), strict=True):
            _rows(axes, names)
            place = _log_with_zero(axes, (r[key] for r in rows))
            for y, row in enumerate(rows):
                filled = color if row[key] > 0 else "none"
                axes.scatter(place(row[key]), y, facecolor=filled, edgecolor=color, zorder=3)
            axes.set_xlabel(f"relative error of {label}")

    return _both(draw, 0.8 + 0.24 * len(rows), len(kinds), (1 + 0.4 * len(rows)) * len(kinds))


def pair(row: Summary) -> str:
    return short(row["a"]) if row["a"] == row["b"] else f"{short(row['a'])} x {short(row['b'])}"


def areas(summary: Summary) -> str:
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
        height, places = _rows(axes, names, 0.6), range(len(rows))
        axes.barh(places, logic, color=BLUE, label="logic", height=height)
        bars = axes.barh(places, held, left=logic, color=ORANGE, label="flip-flops", height=height)
        axes.bar_label(bars, [f"{estimate['delay_ns']:.1f} ns" for _, estimate in rows], padding=3)
        axes.margins(x=0.2)
        axes.set_xlabel("area, thousand um2; label: delay")
        axes.legend(ncols=2, **ABOVE)

    return _both(draw, 1.2 + 0.27 * len(rows), narrow_height=1 + 0.4 * len(rows))


COSTS = {"training": (BLUE, "o"), "conversion": (ORANGE, "s")}


SILICON: dict[str, Callable[[Summary], float]] = {
    "area, thousand um2": lambda row: estimate(row, row["energy"]["mapping"])["area_um2"] / 1000,
    "energy per operation, pJ": lambda row: row["energy"]["total_fj"] / 1000,
}


def recipes(summary: Summary) -> str:
    rows = summary["recipes"]
    places = range(len(rows))

    def draw(*charts: Axes) -> None:
        heights = [_rows(axes, [row["name"] for row in rows]) for axes in charts]
        for cost, (color, mark) in COSTS.items():
            charts[0].scatter([row[cost] for row in rows], places, color=color, marker=mark, label=cost, zorder=3)
        charts[0].axvline(0, color=GREY)
        charts[0].set_xlabel("increase in loss, nats per character")
        charts[0].legend(ncols=2, **ABOVE)
        for axes, height, (label, taken) in zip(charts[1:], heights[1:], SILICON.items(), strict=True):
            axes.bar_label(
                axes.barh(places, [taken(row) for row in rows], color=GREY, height=height), fmt="%.1f", padding=3
            )
            axes.margins(x=0.2)
            axes.set_xlabel(label)

    return _both(draw, 1.0 + 0.35 * len(rows), 1 + len(SILICON), 3 * (0.9 + 0.4 * len(rows)))


def estimate(row: Summary, mapping: str) -> Summary:
    found: Summary = next(e for e in row["synthesis"]["estimates"] if e["mapping"] == mapping)
    return found
