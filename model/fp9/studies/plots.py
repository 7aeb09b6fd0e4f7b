"""Plots of rounding error over the number K of products."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from fp9.system.files import STANDARD_OUTPUT, write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from fp9.studies.accumulators import Errors

KINDS = ("svg", "png", "pdf")


def draw(errors: Sequence[Errors], measure: str, label: str, path: Path) -> None:
    """Plot the magnitude of an error measure over the number of products, with logarithmic axes."""
    kind = "svg" if str(path) == STANDARD_OUTPUT else path.suffix.removeprefix(".")
    if kind not in KINDS:
        raise ValueError(f"plot file {path.name} given; give one that ends in .{', .'.join(KINDS)}")
    if not any(getattr(e, measure) for e in errors):
        raise ValueError(f"every {label} is 0, which no logarithmic axis shows; draw other sums or another measure")
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(e.engine for e in errors):
        points = [(e.depth, abs(getattr(e, measure))) for e in errors if e.engine == name]
        # A logarithmic axis cannot show errors of zero.
        shown = [(depth, size) for depth, size in points if size > 0]
        axes.plot([d for d, _ in shown], [s for _, s in shown], marker="o", markersize=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel="K, products in a sum", ylabel=label)
    axes.set_xscale("log", base=2)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    buffer = io.BytesIO()
    # With a fixed salt and without a date, equal errors give equal SVG.
    with matplotlib.rc_context({"svg.hashsalt": "fp9", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=kind, metadata={"Date": None} if kind == "svg" else None)
    write_whole(path, buffer.getvalue())
