"""Build the documentation page and the two charts of the energy study from its record."""

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
# Energy of an operation

How much energy does a product, a cast or a quantised number take in a real layer? The tables compare formats, sums,
zero gating, stages and blocks.

**Operands.** Each unit computes the products of one layer of the network that `fp9 demo` trains, forward and backward
and in its own formats. Casts and quantisers convert the same tensors. For comparison, each unit also gets random codes.
A quantiser of a stream stores a block of FP32 numbers in registers until the scale is known, and a cast does not.

**Conditions.** Units are mapped by delay-balanced synthesis, and one operation enters in each clock cycle. There is no
clock tree and no layout, so use the figures only to compare units.

**What is counted.**

- The internal energy of every cell, from the NLDM tables: by its state before and after, its load and the slope of its
  inputs.
- Half of C V² for each change of a net. Its wire counts as {wire} inputs of the smallest inverter for each input.
- Both clock edges at every register.
- Leakage during the delay of the unit's longest path.
- Glitches: changes that are undone within a clock cycle. A second simulation of 2,048 operations counts them, with
  the mean delay of each cell. Each glitch counts as a full swing of its net, so this share is an upper bound.

Tests (`tests/sim/energy`) compare the settled toggles of every cell with Icarus on the vendor's cell models. With
glitches, the number of toggles is within a tenth of Icarus with those models' delays.

![Energy of a product](energy.svg)
"""
_ACCURACY = """\
## Accuracy against energy

The chart compares recipes. Vertical: the increase in held-out loss over float32 of a small character model, for three
seeds (`records/recipes/training.json`). Horizontal: the energy of a product in the unit that the recipe uses, in the
layer above.

![Loss over energy](energy-accuracy.svg)
"""


def write(record: Record, folder: Path) -> list[Path]:
    """Write the page and charts of a complete energy record into a folder, and return their paths.

    Raises ValueError if the record lacks a unit, and OSError if a file cannot be written.
    """
    missing = UNITS.keys() - record["units"].keys()
    if missing:
        raise ValueError(f"no energy of {', '.join(sorted(missing))} is recorded; run `{COMMAND}`")
    texts = {"energy.md": page(record), **charts(record)}
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]


def page(record: Record) -> str:
    parts = [_TEXT.format(wire=WIRE_LOADS)]
    for group in _groups(record):
        parts += [f"## {group}\n", *_table(record, group), "", *_changes(record, group)]
    parts += ["## Shares of the energy\n", *_where(record), ""]
    if record["losses"]:
        parts += [_ACCURACY, *_losses(record), ""]
    parts.append(f"Measure again: `{COMMAND}`")
    return "\n".join(parts) + "\n"


def charts(record: Record) -> dict[str, str]:
    found = {"energy.svg": _bars(record)}
    return found | ({"energy-accuracy.svg": _scatter(record)} if record["losses"] else {})


def _groups(record: Record) -> list[str]:
    return list(dict.fromkeys(row["group"] for row in rows_of(record)))


def _rows(record: Record, group: str, library: str, data: str) -> list[Record]:
    return [r for r in rows_of(record) if (r["group"], r["library"], r["data"]) == (group, library, data)]


def _ratios(record: Record, group: str, library: str) -> list[float]:
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
    labels = [row["label"] for row in _rows(record, group, SIDE_BY_SIDE[0], LAYER)]
    values = zip(*(_ratios(record, group, library) for library in SIDE_BY_SIDE), strict=True)
    yield from changes(SIDE_BY_SIDE, zip(labels, values, strict=True))
    yield ""


def _where(record: Record) -> Iterator[str]:
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
    heads = ["recipe", "increase in loss over float32, nats per character", "least and most"]
    heads += [f"{name}: fJ a product" for name in SIDE_BY_SIDE]
    yield markdown_row(heads)
    yield markdown_row(["---", *["---:"] * (len(heads) - 1)])
    for recipe, values in record["losses"].items():
        energies = [_of_recipe(record, recipe, library)["product_fj"] for library in SIDE_BY_SIDE]
        bounds = f"{min(values):.4f} to {max(values):.4f}"
        yield markdown_row([recipe, f"{statistics.mean(values):.4f}", bounds, *(f"{e:.0f}" for e in energies)])


def _of_recipe(record: Record, recipe: str, library: str) -> Record:
    return next(r for r in rows_of(record) if (r["recipe"], r["library"], r["data"]) == (recipe, library, LAYER))


def _bars(record: Record) -> str:
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
    panels[0].set_ylabel("increase in loss over float32, nats per character")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7)
    return svg(figure)
