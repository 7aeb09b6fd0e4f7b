"""Command `fp9 cmodel`: write the golden model as C."""

from __future__ import annotations

from pathlib import Path

import click

from fp9.cli.support import Command, UserError, load_unit, settings_option, show, table
from fp9.cli.words import ENGINE, FORMAT_OR_BLOCK, UNIT
from fp9.system.files import write_whole


@click.command(cls=Command, page="how-to/emulator.md")
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@click.option(
    "--formats",
    default="",
    metavar="FORMAT,...",
    type=FORMAT_OR_BLOCK,
    help="Write functions of these formats and block formats.",
)
@click.option(
    "--engines", default="", metavar="ENGINE,...", type=ENGINE, help="Also write dot products with these accumulators."
)
@click.option("--name", "title", default="formats", show_default=True, help="With --formats: the header is fp9_NAME.h.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("build/cmodel"),
    show_default=True,
    help="Folder for the headers.",
)
@settings_option
def cmodel(
    names: tuple[str, ...],
    formats: str,
    engines: str,
    title: str,
    out: Path,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the golden model of UNIT... as C headers.

    Each fp9_UNIT.h is one freestanding C99 header without libm, allocation or global state. The header is also valid
    C++17, OpenCL C, CUDA and HIP. The program UNIT_bench.c checks the C header against the golden vectors in a .vec
    file. The files UNIT_dpi.c and UNIT_dpi.sv import the model into SystemVerilog by DPI-C.

    With --formats, the header fp9_NAME.h has C functions that convert and classify codes and find neighbouring
    numbers. For a block format, the header has a C function that quantises a block. With --engines, the header also
    has dot products.

    \b
      fp9 cmodel fma_fp32_ocp cast_fp32 -o build/cmodel
      fp9 cmodel --formats e4m3,hif8 --engines hopper,dlfloat -o build/cmodel
      fp9 cmodel --formats nvfp4,mxfp8_e4m3 --name blocks -o build/cmodel
    """
    from fp9.cmodel import files, library_files  # slow to load

    if not names and not formats:
        raise UserError("no UNIT and no --formats given; give a unit, such as fma_fp32_ocp, or --formats e4m3,hif8")
    if engines and not formats:
        raise UserError(f"--engines {engines} given without --formats; give the formats of the operands as well")
    units = [load_unit(name, settings) for name in names]
    made = {path: text for unit in units for path, text in files(unit).items()}
    if formats:
        made |= library_files(formats, engines, title)
    for path, text in made.items():
        write_whole(out / path, text)
    records = [{"file": str(out / path), "lines": text.count("\n")} for path, text in made.items()]
    rows = [list(record.values()) for record in records]
    show(records, as_json, table("C model", ["file", "lines"], rows, numbers=["lines"]))
