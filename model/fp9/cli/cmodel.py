"""The golden model as C: cmodel."""

from __future__ import annotations

from pathlib import Path

import click

from fp9.cli.support import Command, load_unit, settings_option, show, table
from fp9.cli.words import UNIT
from fp9.system.files import write_whole


@click.command(cls=Command)
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("build/cmodel"),
    show_default=True,
    help="Folder of what is written.",
)
@settings_option
def cmodel(names: tuple[str, ...], out: Path, settings: tuple[str, ...], as_json: bool) -> None:
    """Write the golden model of UNIT... as C headers.

    Each fp9_UNIT.h is one freestanding C99 header without libm, allocation or global state; it is C++17, OpenCL C, CUDA
    and HIP as well. Beside it stands UNIT_bench.c, a program that compares the header with a .vec file.

    \b
      fp9 cmodel fma_fp32_ocp cast_fp32 -o build/cmodel
    """
    from fp9.cmodel import files  # slow to load

    units = [load_unit(name, settings) for name in names]
    made = {path: text for unit in units for path, text in files(unit).items()}
    for path, text in made.items():
        write_whole(out / path, text)
    records = [{"file": str(out / path), "lines": text.count("\n")} for path, text in made.items()]
    rows = [list(record.values()) for record in records]
    show(records, as_json, table("C model", ["file", "lines"], rows, numbers=["lines"]))


COMMANDS = (cmodel,)
"""Commands of the C model."""
