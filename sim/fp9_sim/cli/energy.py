"""The command for the energy of an operation. It loads its packages when called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import Command, extra, keeps, load_unit, progress_bar, settings_option, show, table
from fp9.cli.words import UNIT, Words
from fp9.system.cache import anew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.units import Unit

_PATH = click.Path(path_type=Path)
_LAYER = "layer"
"""The layer of the demonstration, as data."""


def _libraries() -> Iterable[str]:
    with extra("rtl"):
        from fp9_rtl.synthesis.libraries import LIBRARIES  # optional, slow to load
    return LIBRARIES


@click.command(cls=Command)
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option(
    "--data",
    "sets",
    type=Words(("random", "corner", _LAYER), files=True),
    multiple=True,
    help="random (the default), corner, layer, or the file of a recording; repeat for more.",
)
@click.option("--count", type=click.IntRange(1, 1 << 20), default=20_480, show_default=True, help="Operations.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the operations.")
@click.option("--library", "libraries", type=Words(_libraries), multiple=True, help="Standard cells; repeat for more.")
@click.option("--liberty", type=_PATH, multiple=True, help="Your own Liberty; several files make one library.")
@click.option("--leave-out", metavar="CELL", multiple=True, help="With --liberty: cells never to use, * for any text.")
@click.option("--mapping", type=Words(("A", "B")), default="B", show_default=True, help="A, small, or B, balanced.")
@click.option("--steps", is_flag=True, help="What each submodule takes, in a netlist that keeps their boundaries.")
@click.option("--again", is_flag=True, help="Map again what was mapped before and kept.")
@settings_option
def energy(
    names: tuple[str, ...],
    sets: tuple[str, ...],
    count: int,
    seed: int,
    libraries: tuple[str, ...],
    liberty: tuple[Path, ...],
    leave_out: tuple[str, ...],
    mapping: str,
    steps: bool,
    again: bool,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure the energy of an operation of UNIT..., in fJ.

    Every net of the mapped netlist is followed over the operations, one a clock; the library says what its cells take.
    Data: random codes, the corner suite, the layer of `fp9 demo`, or the file of a recorded training step. Glitches and
    the clock tree are not counted.

    \b
      fp9 energy fma_fp32_ocp --library nangate45
      fp9 energy mac_dlfloat16 --data random --data layer --steps
      fp9 energy mac_dlfloat16 --data run.npz
    """
    with extra("sim"):
        from fp9_rtl.synthesis import libraries as cells  # slow to load
        from fp9_sim.energy import NOTE, measure
        from fp9_sim.energy.data import operations
    units, sets = [load_unit(name, settings) for name in names], sets or ("random",)
    chosen = cells.chosen(libraries, liberty, leave_out)
    keeps("netlists that were mapped are kept; run the same command again, and the rest is mapped")
    measured = []
    runs = [(library, unit, data) for library in chosen for unit in units for data in sets]
    with anew(again), progress_bar() as progress:
        for done, (library, unit, data) in enumerate(runs):
            progress(f"{unit.name}: {data}, {library.name}", done, len(runs))
            inputs = _of_layer(unit, count, seed) if data == _LAYER else operations(unit, data, count, seed)
            measured.append(measure(unit, inputs, data, library=library, mapping=mapping, by_step=steps))
    shares = ("internal", "nets", "inputs", "clock", "leakage", "total", "product")
    rows = [
        [e.unit, e.library, e.data, f"{e.operations:,}", f"{e.toggles:.0f}"]
        + [f"{getattr(e, f'{share}_fj'):.1f}" for share in shares]
        for e in measured
    ]
    columns = ["unit", "library", "data", "operations", "toggles", *shares]
    shown = [table(f"Energy of an operation in fJ, mapping {mapping}", columns, rows, numbers=columns[3:])]
    parts = [[e.unit, e.library, e.data, step, f"{fj:.1f}"] for e in measured for step, fj in e.by_step.items()]
    if parts:
        heads = ["unit", "library", "data", "step", "fJ"]
        shown.append(table("By step: inside the cells and on their nets", heads, parts, numbers=["fJ"]))
    show([e.to_dict() for e in measured], as_json, *shown, NOTE)


def _of_layer(unit: Unit, count: int, seed: int) -> Mapping[str, NDArray[Any]]:
    """Operations of the demonstration's layer."""
    with extra("demo"):
        from fp9_sim.demo import network, operations  # optional, slow to load
    data = network.digits(seed)
    return operations.of_unit(unit, network.tensors(network.train(data, seed), data), count, seed)


COMMANDS = (energy,)
"""Commands that measure energy."""
