"""Commands of the hardware: rtl, sim, synth, and the main job: demo, report. They load their packages when called."""

from __future__ import annotations

from pathlib import Path

import click

from fp9.cli_support import Command, UserError, console, extra, load_unit, settings_option, show, table

SIMULATORS = ("icarus", "verilator")


@click.command(cls=Command)
@click.argument("name", metavar="UNIT")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File to write; without it the Verilog is printed.")
@settings_option
def rtl(name: str, out: Path | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Generate the Verilog of UNIT.

    \b
      fp9 rtl fma_fp32 -o build/fma_fp32.v
      fp9 rtl mac_dlfloat16 --set stages=4
    """
    with extra("rtl"):
        import fp9_rtl
    unit = load_unit(name, settings)
    if out is None:
        text = fp9_rtl.verilog(unit)
        show({"unit": unit.name, "verilog": text}, True) if as_json else click.echo(text, nl=False)
        return
    fp9_rtl.write_verilog(unit, out)
    lines = len(out.read_text().splitlines())
    record = {"unit": unit.name, "file": str(out), "lines": lines}
    show(record, as_json, f"{unit.name}: {lines} lines of Verilog in {out}")


@click.command(cls=Command)
@click.argument("name", metavar="UNIT")
@click.option("--simulator", "simulators", multiple=True, type=click.Choice(SIMULATORS), help="Default: both.")
@click.option("--vectors", "path", type=click.Path(path_type=Path), help="Vector file to drive; default: make them.")
@click.option("--count", type=click.IntRange(1), default=2000, show_default=True, help="Random operations to make.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of operations and of stalls.")
@click.option("--waves", type=click.Path(path_type=Path), help="File for the waveforms (one simulator).")
@settings_option
def sim(
    name: str,
    simulators: tuple[str, ...],
    path: Path | None,
    count: int,
    seed: int,
    waves: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Drive the Verilog of UNIT with golden vectors; exit code 1 on a mismatch.

    The operations are the unit's corner cases and COUNT random ones, or those of a vector file.

    \b
      fp9 sim fma_dlfloat16
      fp9 sim cast_fp32 --simulator icarus --waves build/cast.vcd
    """
    with extra("sim"):
        from fp9_sim import regress
    from fp9 import vectors as library

    chosen = simulators or SIMULATORS
    if waves is not None and len(chosen) > 1:
        raise UserError("--waves writes one file; choose the simulator too, as in: --simulator icarus")
    unit = load_unit(name, settings)
    vectors = library.read(path) if path else library.corner_and_random(unit, count=count, seed=seed)
    results = []
    with console(stderr=True).status("") as status:
        for simulator in chosen:
            status.update(f"{unit.name}: {len(vectors)} operations on {simulator}")
            results.append(regress(unit, vectors, simulator, seed=seed, waves=waves))
    records = [result.to_dict() for result in results]
    rows = [[r["simulator"], r["checked"], r["total_mismatches"], f"{r['seconds']:.1f}"] for r in records]
    columns = ["simulator", "operations", "mismatches", "seconds"]
    show(records, as_json, table(unit.name, columns, rows, numbers=columns[1:]), *_mismatches(records))
    if any(r["total_mismatches"] for r in records):
        raise SystemExit(1)
