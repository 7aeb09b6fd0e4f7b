"""Chart of how many accumulator models and field values remain possible after each sum."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from fp9.system.files import write_whole
from fp9_compare.identify import fields

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from fp9_compare.identify.identification import Fit


def write(found: Fit, path: Path) -> None:
    """Write an SVG chart of the accumulator models that remain possible after each sum of an identification.

    Equal identifications give identical files.
    """
    lines = remaining(found)
    figure = Figure(figsize=(8, 2.2 + 0.24 * len(lines)), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1 + len(lines) / 4))
    _candidates(upper, found)
    _strips(lower, lines)
    lower.set_xlabel("sums asked")
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "fp9", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    write_whole(path, buffer.getvalue())


def remaining(found: Fit) -> dict[str, list[int]]:
    """Return how many values of each field remain possible before the first sum and after each sum."""
    evidence, engine = found.evidence, found.nearest
    # A value remains possible while the nearest model with this value reproduces all sums so far.
    return {
        field.name: _falling([engine, *fields.changed(engine, field, found.interface)], found)
        for field in evidence.fields
    }


def _falling(engines: list[Any], found: Fit) -> list[int]:
    agrees = [found.evidence.agrees(engine) for engine in engines]
    taken = [vector for vector in agrees if vector is not None]
    kept = np.logical_and.accumulate(np.stack(taken), axis=1)
    return [len(taken), *kept.sum(axis=0).tolist()]


def _candidates(axes: Axes, found: Fit) -> None:
    for fall in found.falls:
        axes.plot([fall.row, fall.row + 1], [fall.before, max(fall.after, 0.5)], color="C0", marker=".", linewidth=1)
    axes.set(yscale="log", ylabel="candidates", title=f"{found.name}: {found.nearest.name}")
    axes.set_yticks([0.5, 1, 10, 100], labels=["none", "1", "10", "100"])
    axes.grid(alpha=0.3)


def _strips(axes: Axes, lines: dict[str, list[int]]) -> None:
    rows = np.array([np.log2(counts) for counts in lines.values()])
    extent = (-0.5, rows.shape[1] - 0.5, 0, len(rows))
    axes.imshow(rows, aspect="auto", cmap="Blues", interpolation="nearest", extent=extent)
    labels = [f"{name}: {counts[0]} to {counts[-1]}" for name, counts in lines.items()]
    axes.set_yticks(np.arange(len(rows)) + 0.5, labels=labels[::-1], fontsize=7)
