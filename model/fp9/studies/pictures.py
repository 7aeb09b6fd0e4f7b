"""Pictures of number formats: plots of precision over exponent, maps of all codes, and rounding staircases."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import encode
from fp9.formats import Format, Kind, Rounding, floor_log2, format
from fp9.system.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_SIDE = 16


def precision(fmt: Format) -> tuple[list[int], list[int]]:
    """Return the exponent and the precision of each binade. The precision in bits includes the leading bit."""
    low, high = floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.max_magnitude)
    exponents = list(range(low, high + 1))
    return exponents, [1 + e - fmt.quantum(e) for e in exponents]


def precision_over_exponent(names: Sequence[str] = ("fp16", "hif8", "e4m3", "e5m2")) -> Figure:
    """Plot the number of significand bits over the exponent (HiF8 Fig. 1)."""
    figure, axes = _axes(8, 4)
    for name in names:
        exponents, bits = precision(format(name))
        axes.step([*exponents, exponents[-1] + 1], [*bits, bits[-1]], where="post", label=name)
    axes.set(xlabel="binary exponent", ylabel="significand bits", ylim=(0, None))
    axes.legend()
    return figure


def code_map(name: str) -> Figure:
    """Plot the codes of an 8-bit format as a grid, coloured by log2 of the magnitude."""
    fmt = format(name)
    if fmt.bits != 8:
        raise ValueError(f"{fmt.name} has {fmt.bits} bits; a code map shows 8")
    figure, axes = _axes(9, 7)
    finite = [fmt.kind_of(code) is Kind.FINITE for code in range(256)]
    levels = [math.log2(abs(fmt.table[code])) if finite[code] else math.nan for code in range(256)]
    image = axes.imshow(np.reshape(levels, (_SIDE, _SIDE)), cmap="viridis", aspect="auto")
    grounds = np.asarray(image.cmap(image.norm(np.array(levels))))
    for code in range(256):
        place, colour = (code % _SIDE, code // _SIDE), _on(grounds[code]) if finite[code] else "black"
        axes.text(*place, f"{fmt.table[code]:.3g}", ha="center", va="center", size=5, color=colour)
    digits = [f"{digit:X}" for digit in range(_SIDE)]
    axes.set(xticks=range(_SIDE), xticklabels=digits, yticks=range(_SIDE), yticklabels=digits, title=fmt.name)
    figure.colorbar(image, label="log2 of the magnitude")
    return figure


def _on(ground: NDArray[Any]) -> str:
    # The text colour with more contrast (WCAG 2 relative luminance).
    red, green, blue, _ = ground
    return "black" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "white"


def staircase(name: str, roundings: Sequence[str] = ("rne", "rna", "rtz"), top: float | None = None) -> Figure:
    """Plot casts of inputs from 0 to `top`, or to 12 times the smallest positive number."""
    fmt = format(name)
    x = np.linspace(0, top or 12 * fmt.smallest, 2000)
    figure, axes = _axes(7, 5)
    axes.plot(x, x, color="0.8", linewidth=1)
    for rounding in roundings:
        axes.plot(x, fmt.table[encode(x, fmt, Rounding(rounding))], label=rounding, linewidth=1)
    axes.set(xlabel="number", ylabel=f"rounded to {fmt.name}")
    axes.legend()
    return figure


def draw(folder: Path) -> list[Path]:
    """Write the standard pictures as SVG and PNG, and return their paths."""
    figures = {"precision": precision_over_exponent()}
    for name in ("e4m3", "hif8", "hfp8_143"):
        figures[f"codes_{name}"] = code_map(name)
        figures[f"rounding_{name}"] = staircase(name)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for stem, figure in figures.items():
        for kind in ("svg", "png"):
            content = io.BytesIO()
            figure.savefig(content, format=kind, metadata={"Date": None} if kind == "svg" else None)
            written.append(folder / f"{stem}.{kind}")
            write_whole(written[-1], content.getvalue())
    return written


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure  # slow to load

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()
