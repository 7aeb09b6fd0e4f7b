"""Command `energy`, which measures the energy of a unit's operations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fp9.cli.support import Command, UserError, extra, keeps, load_unit, progress_bar, settings_option, show, table
from fp9.cli.words import UNIT, Words
from fp9.system.cache import recomputing
from fp9_rtl.cli import library_options
from fp9_sim.cli.toggles import show_toggles

if TYPE_CHECKING:
    from fp9.units import Unit
    from fp9_sim.energy.data import Columns

_PATH = click.Path(path_type=Path)
_LAYER = "layer"


@click.command(cls=Command, page="how-to/area-and-energy.md")
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@click.option(
    "--data",
    "sets",
    type=Words(("random", "corner", _LAYER), files=True),
    multiple=True,
    help="random (the default), corner, layer, or the file of a recording; repeat for more.",
)
@click.option("--count", type=click.IntRange(1, 1 << 20), default=10_240, show_default=True, help="Operations.")
@click.option("--toggles", is_flag=True, help="Count toggles with and without gate_zeros instead of energy.")
@click.option(
    "--zeros", type=float, multiple=True, help="With --toggles: share of zero products; default: 0, 0.5, 0.9."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the operations.")
@library_options
@click.option(
    "--mapping",
    type=Words(("area-optimised", "delay-balanced")),
    default="delay-balanced",
    show_default=True,
    help="area-optimised or delay-balanced.",
)
@click.option(
    "--steps", is_flag=True, help="Show the energy of each submodule, in a netlist that keeps their boundaries."
)
@click.option(
    "--study",
    is_flag=True,
    help="Run the study of energy in osu018 and nangate45; measure only circuits that changed.",
)
@click.option("--out", type=_PATH, default=Path("build/study"), show_default=True, help="With --study: its folder.")
@click.option("--force", is_flag=True, help="Measure again, without cached results.")
@settings_option
def energy(
    names: tuple[str, ...],
    sets: tuple[str, ...],
    count: int,
    toggles: bool,
    zeros: tuple[float, ...],
    seed: int,
    libraries: tuple[str, ...],
    liberty: tuple[Path, ...],
    leave_out: tuple[str, ...],
    mapping: str,
    steps: bool,
    study: bool,
    out: Path,
    force: bool,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure the energy of an operation of UNIT..., in fJ.

    The mapped netlist is simulated with one operation per clock cycle, and the cell library gives the energy of each
    toggle. Operands are random codes, the corner suite, the layer of `fp9 demo`, or the file of a recorded training
    step. Glitches are simulated with the mean delay of each cell. The clock tree is not included.

    
      fp9 energy fma_fp32_ocp --library nangate45
      fp9 energy mac_dlfloat16 --data random --data layer --steps
      fp9 energy mac_dlfloat16 --data run.npz
      fp9 energy --study --out build/study
    """
    with extra("sim"):
        from fp9_rtl.synthesis import libraries as cells  # slow to load
        from fp9_sim.energy import NOTE, measure
        from fp9_sim.energy.data import operations
    if study == bool(names):
        raise UserError("give UNIT..., or --study alone")
    if zeros and not toggles:
        raise UserError(f"--zeros {zeros[0]:g} given without --toggles; give --toggles as well")
    if toggles:
        if study or sets or libraries or liberty or leave_out or steps:
            raise UserError("--toggles counts gates without a library; give only UNIT..., --zeros, --count and --seed")
        units = [load_unit(name, settings) for name in names]
        return show_toggles(units, zeros or (0.0, 0.5, 0.9), count, seed, as_json)
    keeps("mapped netlists are cached; run the same command again to map the rest")
    if study:
        with recomputing(force):
            return _study(out, force, as_json)
    units, sets = [load_unit(name, settings) for name in names], sets or ("random",)
    chosen = cells.chosen(libraries, liberty, leave_out)
    measured = []
    of_layer = _of_layer(count, seed) if _LAYER in sets else None
    runs = [(library, unit, data) for library in chosen for unit in units for data in sets]
    with recomputing(force), progress_bar() as progress:
        for done, (library, unit, data) in enumerate(runs):
            progress(f"{unit.name}: {data}, {library.name}", done, len(runs))
            inputs = of_layer(unit) if of_layer and data == _LAYER else operations(unit, data, count, seed)
            measured.append(measure(unit, inputs, data, library=library, mapping=mapping, by_step=steps))
    shares = ("internal", "nets", "inputs", "clock", "glitches", "leakage", "total", "product")
    rows = [
        [e.unit, e.library, e.data, f"{e.operations:,}", f"{e.toggles:.0f}", f"{e.glitches:.0f}"]
        + [f"{getattr(e, f'{share}_fj'):.1f}" for share in shares]
        for e in measured
    ]
    columns = ["unit", "library", "data", "operations", "toggles", "undone", *shares]
    shown = [table(f"Energy of an operation in fJ, {mapping}", columns, rows, numbers=columns[3:])]
    parts = [[e.unit, e.library, e.data, step, f"{fj:.1f}"] for e in measured for step, fj in e.by_step.items()]
    if parts:
        heads = ["unit", "library", "data", "step", "fJ"]
        shown.append(table("By step: cells, their nets and glitches", heads, parts, numbers=["fJ"]))
    return show([e.to_dict() for e in measured], as_json, *shown, NOTE)


def _of_layer(count: int, seed: int) -> Callable[[Unit], Columns]:
    with extra("demo"):
        from fp9_sim.demo import operations  # optional, slow to load
    return operations.in_the_layer(count, seed)


def _study(folder: Path, force: bool, as_json: bool) -> None:
    from fp9_sim import records  # slow to load
    from fp9_sim.energy import data, pages, study

    training = Path("records/recipes/training.json")
    known = study.NOTHING if force else study.read(records.home())
    with progress_bar(keep=True) as progress:
        of_recipes = training if training.is_file() else None
        record = study.run(_of_layer(data.COUNT, 0), known, of_recipes, progress)
    written = [str(path) for path in pages.write(record, folder)]
    show(written, as_json, f"The study of energy in {folder / 'energy.md'}")
