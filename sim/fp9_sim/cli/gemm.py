"""Command `gemm`, which generates tiles for matrix products."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import SEED, Command, doing, echo, extra, load_unit, progress_bar, settings_option, show, table
from fp9.cli.words import FORMAT, OUT_FILE, OVERFLOW, ROUNDING, UNIT
from fp9.system.files import write_whole

if TYPE_CHECKING:
    from fp9_rtl.gemm.tile import GemmTile


@click.command(cls=Command, page="reference/gemm-tile.md")
@click.option("--rows", type=int, default=4, show_default=True, help="Rows of the tile.")
@click.option("--columns", type=int, default=4, show_default=True, help="Columns of the tile.")
@click.option(
    "--unit",
    "name",
    metavar="UNIT",
    type=UNIT,
    default="mac_dlfloat16",
    show_default=True,
    help="Unit of each element.",
)
@click.option(
    "--cast", "target", metavar="FORMAT", type=FORMAT, default="e4m3", show_default=True, help="Format of the results."
)
@click.option("--rounding", type=ROUNDING, default="rne", show_default=True, help="Rounding of the cast.")
@click.option("--overflow", type=OVERFLOW, default="saturate", show_default=True, help="Overflow policy of the cast.")
@click.option("-o", "--out", type=OUT_FILE, help="File to write.")
@click.option("--check", is_flag=True, help="Simulate matrix products on Icarus and Verilator.")
@click.option(
    "--count", type=click.IntRange(1, 10_000), default=8, show_default=True, help="Matrix products of --check."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of --check.")
@click.option("--area", is_flag=True, help="Estimate area and delay in standard cells.")
@settings_option
def gemm(
    rows: int,
    columns: int,
    name: str,
    target: str,
    rounding: str,
    overflow: str,
    out: Path | None,
    check: bool,
    count: int,
    seed: int,
    area: bool,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Generate a systolic array for matrix products.

    The systolic array is output-stationary, with a cast unit below every column. UNIT is a multiply-accumulate unit
    (mac). If UNIT is a dot-product (dot) or multiply-add (fma) unit, the command adds an accumulator to the unit.
    Without --out, --check and --area, the command prints the Verilog. The exit code is 1 if --check finds a mismatch.

    
      fp9 gemm --rows 4 --columns 4 --unit mac_dlfloat16 --cast e4m3 --out build/gemm.v
      fp9 gemm --rows 2 --columns 2 --unit mac4_e8m13_ocp --check
      fp9 gemm --rows 2 --columns 2 --set stages=3 --area
    """
    with extra("rtl"):
        from fp9_rtl.gemm.tile import GemmTile, gemm_verilog  # slow to load
    from fp9.formats.rounding import Overflow, Rounding, choice  # slow to load

    unit = load_unit(name, settings)
    tile = GemmTile.of(
        unit, rows, columns, target, choice(Rounding, rounding, "rounding"), choice(Overflow, overflow, "overflow")
    )
    doing(f"{tile.name}: making the Verilog of {rows} x {columns} elements")
    text = gemm_verilog(tile)
    if out is None and not check and not area:
        show({"tile": tile.name, "verilog": text}, True) if as_json else echo(text)
        return
    record: dict[str, Any] = {"tile": tile.name, "file": str(out) if out else None}
    shown: list[Any] = []
    if out is not None:
        write_whole(out, text)
        shown.append(f"{tile.name}: {text.count(chr(10))} lines in {out}")
    if area:
        record["area"] = _area(tile, shown)
    if check:
        record["checks"] = _check(tile, count, seed, shown)
    show(record, as_json, *shown)
    if not all(found["passed"] for found in record.get("checks", ())):
        raise SystemExit(1)


def _area(tile: GemmTile, shown: list[Any]) -> list[dict[str, Any]]:
    from fp9_rtl.gemm import area as gemm_area  # slow to load
    from fp9_rtl.synthesis.records import NOTE  # slow to load

    with progress_bar() as progress:
        found = [area.to_dict() for area in gemm_area.measure(tile, progress=progress)]
    columns = ["mapping", "area um2", "logic um2", "FF um2", "FF", "um2 per element", "delay ns"]
    fields = ("area_um2", "logic_um2", "flip_flop_um2", "flip_flops", "element_um2")
    rows = [[r["mapping"], *(f"{r[field]:.0f}" for field in fields), f"{r['delay_ns']:.2f}"] for r in found]
    shown += [
        table(f"{tile.name}, {tile.rows} x {tile.columns}", columns, rows, numbers=columns[1:]),
        f"osu018; {NOTE}",
    ]
    return found


def _check(tile: GemmTile, products: int, seed: int, shown: list[Any]) -> list[dict[str, Any]]:
    with extra("sim"):
        from fp9_sim import SIMULATORS  # slow to load
        from fp9_sim.regression.gemm import check_tile  # slow to load
    found = []
    with progress_bar() as progress:
        for done, simulator in enumerate(SIMULATORS):
            progress(f"{tile.name}: {products} products on {simulator}", done, len(SIMULATORS))
            found.append(check_tile(tile, products, seed, simulator).to_dict())
    columns = ["simulator", "products", "steps", "rows", "mismatches"]
    rows = [[*(r[name] for name in columns[:-1]), len(r["mismatches"])] for r in found]
    shown += [table(tile.name, columns, rows, numbers=columns[1:]), *(said for r in found for said in r["mismatches"])]
    return found
