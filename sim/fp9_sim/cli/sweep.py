"""Commands `sweep` and `coverage`, for exhaustive simulation and functional coverage."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fp9.cli.support import Command, UserError, extra, keeps, load_unit, progress_bar, settings_option, show, table
from fp9.cli.words import UNIT, Words
from fp9_sim.cli.options import records_option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fp9.units import Unit
    from fp9_sim.sweeps import Sweep

_PATH = click.Path(path_type=Path)


@click.command(cls=Command, page="how-to/verify-a-unit.md")
@click.argument("name", metavar="UNIT", type=UNIT)
@records_option
@click.option("--shards", help="Only shards FIRST:STOP; the record sums all finished shards.")
@click.option(
    "--count", type=click.IntRange(1), help="Number of random operations, if there are too many inputs for all."
)
@click.option("--jobs", "workers", type=click.IntRange(1), help="Processes; default: one for each core.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers do the work.")
@click.option("--verilog", "path", type=_PATH, help="Verilog of UNIT to sweep; default: generated.")
@click.option("--only", multiple=True, metavar="PORT=VALUE ...", help="Only this operation; repeat for a sequence.")
@settings_option
def sweep(
    name: str,
    folder: Path | None,
    shards: str | None,
    count: int | None,
    workers: int | None,
    scheduler: str | None,
    path: Path | None,
    only: tuple[str, ...],
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check the Verilog and the C model of UNIT on every input.

    If a unit has state or too many inputs, the command simulates the corner suite and COUNT random operations. To
    continue a stopped sweep, run the same command again. Results are added to the record UNIT.json. On a mismatch, the
    exit code is 1, and the command prints the simplest operation that fails.

    
      fp9 sweep cast_fp16_hif8
      fp9 sweep fma_dlfloat16_hfp8_152 --shards 0:64
      fp9 sweep cast_fp32 --scheduler tcp://10.0.0.1:8786
    """
    with extra("sim"):
        from fp9_sim import sweeps as library  # slow to load
    unit = load_unit(name, settings)
    verilog = path.read_text() if path else None
    if only:
        return _only(unit, verilog, only, as_json)
    plan = library.Plan(unit, **({"count": count} if count else {}))
    keeps("finished shards are stored; run the same command again to continue the sweep")
    chosen = library.parse_range(shards, plan.shards) if shards else None
    with progress_bar() as progress:
        found = library.sweep(
            plan,
            chosen,
            verilog=verilog,
            folder=folder,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
        )
    again = _reproducer(name, settings, path, found)
    record = found.record
    sides = record["million_per_second"]
    rows = [
        [record["kind"], f"{record['count']:,}", f"{record['mismatches']:,}", f"{found.rate / 1e6:.1f}"]
        + [f"{sides[side]:.1f}" for side in ("verilog", "model")]
    ]
    columns = ["kind", "operations", "mismatches", "million/s", "Verilog alone", "model alone"]
    compared = ["C model: equal to the golden model"] if record["c_model"] else []
    said = [*compared, f"record: {found.path}", *([f"simplest failure: {again}"] if again else [])]
    show({**record, "reproducer": again}, as_json, table(unit.name, columns, rows, numbers=columns[1:]), *said)
    if not found.passed:
        raise SystemExit(1)


def _reproducer(name: str, settings: Iterable[str], path: Path | None, found: Sweep) -> str | None:
    if not found.simplest:
        return None
    words = ["fp9", "sweep", name]
    for setting in settings:
        words += ["--set", setting]
    if path:
        words += ["--verilog", str(path)]
    for operation in found.simplest:
        words += ["--only", " ".join(f"{port}={value:#x}" for port, value in operation.items())]
    return shlex.join(words)


def _only(unit: Unit, verilog: str | None, texts: Iterable[str], as_json: bool) -> None:
    from fp9_sim import check, verilated  # slow to load
    from fp9_sim.sweeps.shrink import columns  # slow to load

    operations = [_operation(unit, text) for text in texts]
    dut = verilated(unit, threads=1, verilog=verilog, operations=len(operations))
    found, total = check(unit, columns(unit, operations), dut=dut)
    said = [str(mismatch) for mismatch in found] or [f"{unit.name}: {len(operations)} operations, no mismatch"]
    show({"unit": unit.name, "mismatches": [m.to_dict() for m in found]}, as_json, *said)
    if total:
        raise SystemExit(1)


def _operation(unit: Unit, text: str) -> dict[str, int]:
    # A port that the text does not mention gets the value 0.
    widths = {port.name: port.width for port in unit.inputs}
    operation = dict.fromkeys(widths, 0)
    for word in text.split():
        port, _, value = word.partition("=")
        try:
            number = int(value, 0)
        except ValueError:
            number = -1
        if port not in widths or number < 0 or number >> widths[port]:
            ports = ", ".join(f"{known} ({width} bits)" for known, width in widths.items())
            raise UserError(f"{word!r} given for --only; give PORT=VALUE with the ports {ports}")
        operation[port] = number
    return operation


@click.command(cls=Command, page="explanation/verification-strategy.md")
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option("--suite", type=Words(("smoke", "corner")), default="corner", show_default=True, help="Suite of vectors.")
@settings_option
def coverage(names: tuple[str, ...], suite: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Measure the functional coverage of UNIT's vector suite.

    Cover points follow from the unit specification, and outputs come from the golden model. With `fp9 sim --coverage`,
    outputs come from the simulated circuit. The exit code is 1 if the corner suite misses a bin.

    
      fp9 coverage cast_fp32_ocp_rne
      fp9 coverage fma_fp32_ocp --suite smoke
    """
    with extra("sim"):
        from fp9_sim.coverage import SUITES, of_suite  # slow to load
    if suite not in SUITES:
        raise UserError(f"suite {suite!r} given; give {' or '.join(SUITES)}")
    measured = []
    with progress_bar() as progress:
        for done, name in enumerate(names):
            progress(name, done, len(names))
            measured.append(of_suite(load_unit(name, settings), suite))
    columns = ["unit", "suite", "operations", "bins", "excluded", "met"]
    rows = [[m.unit, suite, f"{m.operations:,}", f"{m.bins:,}", f"{m.excluded:,}", f"{m.met:,}"] for m in measured]
    holes = [f"not met: {line}" for m in measured for line in m.summary]
    shown = table("Functional coverage", columns, rows, numbers=columns[2:])
    records = [m.to_dict() | {"suite": suite, "bins": m.bins, "met": m.met, "excluded": m.excluded} for m in measured]
    show(records, as_json, shown, *holes)
    if suite == "corner" and any(m.met < m.bins for m in measured):
        raise SystemExit(1)
