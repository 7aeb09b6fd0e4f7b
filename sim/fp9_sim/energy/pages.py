"""The energy study as a page and two pictures, built from its record."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fp9.system.files import write_whole
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_rtl.synthesis.power import WIRE_LOADS
from fp9_rtl.synthesis.report import changes, markdown_row, svg
from fp9_sim.energy.study import COMMAND, LAYER, RANDOM, UNITS, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Record = Mapping[str, Any]

_SHARES = ("internal", "nets", "inputs", "clock", "glitches", "leakage")
_TEXT = """\
# What an operation takes

What does a product take where it is really computed, by formats, sums, gating, stages and blocks, and what a cast?

Energy of an operation in a real layer: the products, forward and backward, of one layer of the network that `fp9 demo`
trains, in each unit's own formats, blocks and sums, and of one product of it; of casts and quantisers, over the same
tensors, of one number; beside it operands drawn from all codes. A quantiser of a stream holds a block of FP32 numbers
in registers until its scale is known, which a cast does not. Mapping B: {note}.

What is counted: the internal energy of every cell, by its state before and after, its load and the slope of its inputs
(NLDM tables); half of C V² for each change of a net, with {wire} inputs of the smallest inverter as the wire to each
input and the library's load at each output; both edges of the clock at every register; leakage over the unit's worst
path. Settled toggles agree cell by cell with Icarus on the maker's own models
(`tests/sim/energy`). Glitches, changes that are undone within a clock, are those of a simulation in which each cell has
the mean of its delays and swallows shorter pulses; with glitches Icarus, with the delays of the maker's models, counts
as many within a tenth. Each is counted as a full swing of its net, so that these shares are upper bounds.

![Energy of a product](energy.svg)
"""
_ACCURACY = """\
## Accuracy against energy

The held-out loss of a small character model above that of float32, trained by each recipe with three seeds
(`records/recipes/training.json`), over the energy of a product of the unit that multiplies for it, in the
digits' layer above.

![Loss over energy](energy-accuracy.svg)
"""


def write(record: Record, folder: Path) -> list[Path]:
    """Write the page and the pictures of a complete record into a folder and return their paths.

    Raises ValueError if a unit is missing, OSError if a file cannot be written.
    """
    missing = UNITS.keys() - record["units"].keys()
    if missing:
        raise ValueError(f"no energy of {', '.join(sorted(missing))} is recorded; run `{COMMAND}`")
    texts = {"energy.md": page(record), **charts(record)}
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]


def page(record: Record) -> str:
    """Return the study as Markdown."""
    parts = [_TEXT.format(note=record["note"], wire=WIRE_LOADS)]
    for group in _groups(record):
        parts += [f"## {group}\n", *_table(record, group), "", *_changes(record, group)]
    parts += ["## Where it goes\n", *_where(record), ""]
    if record["losses"]:
        parts += [_ACCURACY, *_losses(record), ""]
    parts.append(f"Measure again: `{COMMAND}`")
    return "\n".join(parts) + "\n"


def charts(record: Record) -> dict[str, str]:
    """Return the pictures as SVG, by file name."""
    found = {"energy.svg": _bars(record)}
    return found | ({"energy-accuracy.svg": _scatter(record)} if record["losses"] else {})


def _groups(record: Record) -> list[str]:
    return list(dict.fromkeys(row["group"] for row in rows_of(record)))


def _rows(record: Record, group: str, library: str, data: str) -> list[Record]:
    return [r for r in rows_of(record) if (r["group"], r["library"], r["data"]) == (group, library, data)]


def _ratios(record: Record, group: str, library: str) -> list[float]:
    """Return the energy of a product in the layer, relative to the group's first unit."""
    rows = _rows(record, group, library, LAYER)
    return [row["product_fj"] / rows[0]["product_fj"] for row in rows]


def _table(record: Record, group: str) -> Iterator[str]:
    heads = ["", "products or numbers"]
    for library in SIDE_BY_SIDE:
        heads += [f"{library}: fJ each", "ratio", "an operation, pJ", "random, pJ"]
    yield markdown_row(heads)
    yield markdown_row(["---", *["---:"] * (len(heads) - 1)])
    for place, first in enumerate(_rows(record, group, SIDE_BY_SIDE[0], LAYER)):
        cells = [first["label"], str(first["products"])]
        for library in SIDE_BY_SIDE:
            layer, drawn = (_rows(record, group, library, data)[place] for data in (LAYER, RANDOM))
            ratio = _ratios(record, group, library)[place]
            cells += [f"{layer['product_fj']:.0f}", f"{ratio:.2f}"]
            cells += [f"{side['total_fj'] / 1000:.2f}" for side in (layer, drawn)]
        yield markdown_row(cells)


def _changes(record: Record, group: str) -> Iterator[str]:
    """Yield sentences about ratios that differ between the libraries."""
    labels = [row["label"] for row in _rows(record, group, SIDE_BY_SIDE[0], LAYER)]
    values = zip(*(_ratios(record, group, library) for library in SIDE_BY_SIDE), strict=True)
    yield from changes(SIDE_BY_SIDE, zip(labels, values, strict=True))
    yield ""


def _where(record: Record) -> Iterator[str]:
    """Yield a table of the shares of energy in the layer, for all libraries."""
    yield markdown_row(["", *(f"{library}: {share}" for library in SIDE_BY_SIDE for share in _SHARES)])
    yield markdown_row(["---", *["---:"] * (len(_SHARES) * len(SIDE_BY_SIDE))])
    for group in _groups(record):
        for place, first in enumerate(_rows(record, group, SIDE_BY_SIDE[0], LAYER)):
            cells = []
            for library in SIDE_BY_SIDE:
                row = _rows(record, group, library, LAYER)[place]
                cells += [f"{row[f'{share}_fj'] / row['total_fj']:.0%}" for share in _SHARES]
            yield markdown_row([first["label"], *cells])


def _losses(record: Record) -> Iterator[str]:
    heads = ["recipe", "loss above float32, nat", "least and most", *(f"{name}: fJ a product" for name in SIDE_BY_SIDE)]
    yield markdown_row(heads)
    yield markdown_row(["---", *["---:"] * (len(heads) - 1)])
    for recipe, values in record["losses"].items():
        energies = [_of_recipe(record, recipe, library)["product_fj"] for library in SIDE_BY_SIDE]
        bounds = f"{min(values):.4f} to {max(values):.4f}"
        yield markdown_row([recipe, f"{statistics.mean(values):.4f}", bounds, *(f"{e:.0f}" for e in energies)])


def _of_recipe(record: Record, recipe: str, library: str) -> Record:
    return next(r for r in rows_of(record) if (r["recipe"], r["library"], r["data"]) == (recipe, library, LAYER))


def _bars(record: Record) -> str:
    """Return a bar chart of the energy of a product in each library, for the layer and for random codes."""
    from matplotlib.figure import Figure  # slow to load

    groups = _groups(record)
    labels = [f"{row['label']}" for group in groups for row in _rows(record, group, SIDE_BY_SIDE[0], LAYER)]
    figure = Figure(figsize=(7, 1.4 + 0.34 * len(labels)), layout="constrained")
    panels: Sequence[Axes] = figure.subplots(1, 2, sharey=True)
    for axes, library in zip(panels, SIDE_BY_SIDE, strict=True):
        for number, data in enumerate((LAYER, RANDOM)):
            rows = [row for group in groups for row in _rows(record, group, library, data)]
            places = [place + (number - 0.5) * 0.38 for place in range(len(rows))]
            axes.barh(places, [row["product_fj"] for row in rows], 0.38, label=data)
        axes.set_xlabel(f"fJ a product or number, {library}")
    panels[0].set_yticks(range(len(labels)), labels, fontsize=7)
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return svg(figure)


def _scatter(record: Record) -> str:
    """Return a chart of the increase in loss over float32 against the energy of a product, a panel for each library.

    Error bars span the range over seeds.
    """
    from matplotlib.figure import Figure  # slow to load

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    panels: Sequence[Axes] = figure.subplots(1, 2, sharey=True)
    for axes, library in zip(panels, SIDE_BY_SIDE, strict=True):
        for recipe, values in record["losses"].items():
            middle = statistics.mean(values)
            reach = [[middle - min(values)], [max(values) - middle]]
            energy = _of_recipe(record, recipe, library)["product_fj"]
            axes.errorbar([energy], [middle], yerr=reach, fmt="o", capsize=3, label=recipe)
        axes.set_xlabel(f"fJ a product, {library}")
        axes.axhline(0, color="0.6", linewidth=0.6)
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=4)
    panels[0].set_ylabel("held-out loss above float32, nat")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7)
    return svg(figure)
