"""Commands `fp9 units`, `fp9 cast` and `fp9 vectors`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from fp9.cli import streams
from fp9.cli.support import (
    SEED,
    Command,
    Group,
    Integer,
    UserError,
    doing,
    echo,
    load_unit,
    progress_bar,
    sentence,
    settings_option,
    show,
    table,
)
from fp9.cli.words import FORMAT, OVERFLOW, ROUNDING, UNIT, Words
from fp9.system.missing import MissingTool, install_hint
from fp9.system.plugins import plugin

_PATH = click.Path(path_type=Path)
CERTIFIED = "fp9.certified"


@click.command(cls=Command, page="how-to/describe-a-unit.md")
@click.argument("name", metavar="[UNIT]", required=False, type=UNIT)
@click.option("--toml", is_flag=True, help="Print only the specification, as a unit file.")
@click.option("--certified", is_flag=True, help="Mark the units whose records are complete, in a checkout.")
@settings_option
def units(name: str | None, toml: bool, certified: bool, settings: tuple[str, ...], as_json: bool) -> None:
    """List the hardware units, or show the specification and ports of one.

    The command prints the specification as a unit file. Save the unit file, change its fields, and give its path
    wherever a command takes UNIT.

    \b
      fp9 units fma_dlfloat16 --set stages=3 --toml > mine.toml
    """
    from fp9.cli import format_records  # slow to load
    from fp9.units import CATALOGUE
    from fp9.units import toml as unitfile

    if name is None:
        if settings or toml:
            raise UserError("--set and --toml are for one unit; name it, as in: fp9 units fma_fp32 --set stages=2")
        every = [format_records.unit_record(unit) for unit in CATALOGUE.values()]
        rows = [[r["name"], r["kind"], r["stages"], r["input_bits"], r["output_bits"], r["summary"]] for r in every]
        columns = ["unit", "kind", "stages", "bits in", "bits out", "formats"]
        if certified:
            complete = _certified()
            every = [{**r, "certified": r["name"] in complete} for r in every]
            rows = [[*row, "yes" if row[0] in complete else "no"] for row in rows]
            columns.append("certified")
        show(every, as_json, table("Units", columns, rows, numbers=columns[2:5]))
        return
    unit = load_unit(name, settings)
    if toml:
        echo(unitfile.dumps(unit))
        return
    record = format_records.unit_record(unit) | {"other_fields": format_records.other_fields(unit)}
    every = [*record["control_ports"], *record["ports"]]
    ports = [[p["direction"], p["name"], p["width"], p["doc"], ", ".join(p["choices"])] for p in every]
    columns = ["direction", "port", "bits", "meaning", "0, 1, ... mean"]
    tables = [table("Ports", columns, ports, numbers=["bits"])]
    if others := record["other_fields"]:
        rows = [[f["name"], f["default"], ", ".join(f["accepted"]), ", ".join(f["adds"])] for f in others]
        tables.append(table("Other fields, at their defaults", ["field", "value", "accepted", "ports it adds"], rows))
    show(record, as_json, unitfile.dumps(unit), *tables)


def _certified() -> set[str]:
    found = plugin(CERTIFIED, "units")
    if found is None:
        raise MissingTool(f"records need the extra sim; install it with: {install_hint('sim')}")
    names: set[str] = found()
    return names


@click.command(cls=Command, context_settings={"ignore_unknown_options": True}, page="how-to/cast-and-scale.md")
@click.argument("values", nargs=-1, required=True)
@click.option("--to", "target", required=True, metavar="FORMAT", type=FORMAT, help="Target format.")
@click.option(
    "--from",
    "source",
    metavar="FORMAT",
    type=FORMAT,
    help="Format that holds the values; 0x... then means a code of it. Default: float64, for hybrid rounding fp32.",
)
@click.option(
    "--rounding", metavar="MODE", type=ROUNDING, help="rne, rna, rtz, rup, rdn or hybrid; default: the format's own."
)
@click.option(
    "--overflow",
    type=OVERFLOW,
    default="saturate",
    show_default=True,
    help="What overflow gives: saturate, inf or directed.",
)
@click.option("--nan-to-zero", is_flag=True, help="NaN gives zero.")
@click.option(
    "--random-bits",
    "random_bits",
    type=Integer(),
    multiple=True,
    help="Random bits for stochastic rounding, an integer; repeat for each value.",
)
@click.option(
    "--random-width", type=click.IntRange(1, 32), default=16, show_default=True, help="Width of --random-bits."
)
def cast(
    values: tuple[str, ...],
    target: str,
    source: str | None,
    rounding: str | None,
    overflow: str,
    nan_to_zero: bool,
    random_bits: tuple[int, ...],
    random_width: int,
    as_json: bool,
) -> None:
    """Print each cast of VALUES to a format, with its bits explained.

    Each value is rounded once. A value is a number (0.1, -3e5, inf, nan) or, with --from, a code (0x41800000).

    \b
      fp9 cast 16 0.1 inf --to hif8 --rounding hybrid
      fp9 cast 0x7F 0x80 --from e4m3 --to fp16
      fp9 cast 0.3 --to e4m3 --rounding sr --random-bits 0x1234
    """
    from fp9.cli import format_records  # slow to load

    record = format_records.cast_records(
        values,
        target,
        source,
        rounding=rounding,
        overflow=overflow,
        nan_to_zero=nan_to_zero,
        random_bits=random_bits,
        random_width=random_width,
    )
    columns = ["given", "source", "code", "bits", "value", "error"]
    rows = [[r["given"], r["source"], r["code"], r["bits"], r["value"], r["error"]] for r in record["casts"]]
    title = f"{record['from']} to {record['to']}, {record['rounding']}, {record['overflow']}"
    show(record, as_json, table(title, columns, rows, numbers=columns))


@click.group(cls=Group, page="how-to/export-vectors.md")
def vectors() -> None:
    """Export, check and stream golden vectors.

    A vector file has one operation per line: the values of all ports in hex, separated by blanks. For each vector
    file, a manifest file names the unit and its ports, and tells how the operations were selected.

    \b
      fp9 vectors export cast_fp32 --suite corner
      fp9 vectors check build/vectors/*.vec
    """


@vectors.command(cls=Command, page="how-to/export-vectors.md")
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("build/vectors"), show_default=True, help="Folder."
)
@click.option(
    "--suite",
    type=Words(("smoke", "corner", "random", "full")),
    default="smoke",
    show_default=True,
    help="smoke, corner, random or full.",
)
@click.option(
    "--format",
    "file_format",
    type=Words(("vec", "memh", "csv", "npz", "parquet")),
    default="vec",
    show_default=True,
    help="vec, memh, csv, npz or parquet.",
)
@click.option("--count", type=click.IntRange(1), help="Number of random operations.")
@click.option(
    "--from",
    "run",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="RUN",
    help="Operations of a recorded training step, in place of a suite: COUNT sums of each product, or operations of "
    "each cast.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the random operations.")
@settings_option
def export(
    names: tuple[str, ...],
    out: Path,
    suite: str,
    file_format: str,
    count: int | None,
    run: Path | None,
    seed: int,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write golden vectors of UNIT... as files.

    The suite smoke has a few hundred operations, and the suite corner has systematic corner cases. The suite random has
    COUNT random operations. For a unit with few input bits and no state, the suite full contains every input
    combination. For a unit with many input bits or with state, the suite full has the operations of the suites corner
    and random. File formats: vec (one line of hexadecimal values for each operation), memh (for $readmemh), csv, npz
    (for NumPy), parquet.

    \b
      fp9 vectors export fma_fp32 cast_fp32 --suite corner --out build/vectors
      fp9 vectors export mac_dlfloat16 --from run.npz
    """
    from fp9.system.plugins import plugin  # slow to load
    from fp9.vectors import sets as library

    units = [load_unit(name, settings) for name in names]
    from_recording = None if run is None else plugin("fp9.recordings", "vectors")
    if run is not None and from_recording is None:
        raise UserError(f"--from {run} given, and no installed package reads recordings; install fp9 with fp9_ml")
    records = []
    with progress_bar() as progress:
        sets = []
        for done, unit in enumerate(units):
            progress(f"{unit.name}: {run or suite + ' suite'} and its results", done, len(units))
            if from_recording is None:
                sets.append(library.generate(unit, suite, count, seed))
            else:
                sets.append(from_recording(unit, run, count, seed))
        for made in sets:
            progress(f"{made.unit.name}: writing {len(made):,} operations", len(units), len(units))
            path = library.export(made, out, file_format=file_format)
            records.append({"unit": made.unit.name, "operations": len(made), "file": str(path)})
    rows = [list(record.values()) for record in records]
    show(records, as_json, table("Golden vectors", ["unit", "operations", "file"], rows, numbers=["operations"]))


@vectors.command(cls=Command, page="how-to/export-vectors.md")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=_PATH)
@click.option("--unit", "name", metavar="UNIT", type=UNIT, help="Unit of the vectors, if it is not in the catalogue.")
@settings_option
def check(paths: tuple[Path, ...], name: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Compare vector files with the golden model.

    The command compares digests, specification, ports, policies and expected results, and lists every difference from
    the golden model. The exit code is 1 if a file differs, and 2 if a file cannot be read.

    \b
      fp9 vectors check build/vectors/*.vec
    """
    from fp9 import vectors as library  # slow to load

    if settings and name is None:
        raise UserError("--set changes the unit that --unit names; give both")
    unit = None if name is None else load_unit(name, settings)
    verdicts, refused = [], []
    for path in paths:
        doing(f"{path}: computing its results again")
        try:
            verdicts.append(library.check(path, unit))
        except (ValueError, OSError) as error:
            refused.append(sentence(error))
    records = [
        {
            "file": str(verdict.path),
            "operations": verdict.operations,
            "passed": verdict.passed,
            "faults": list(verdict.faults),
            "wrong": [dataclasses.asdict(value) for value in verdict.wrong],
        }
        for verdict in verdicts
    ]
    columns = ["file", "operations", "faults", "wrong values"]
    rows = [[str(v.path), v.operations, len(v.faults), len(v.wrong)] for v in verdicts]
    said = [f"{v.path}: {said}" for v in verdicts for said in (*v.faults, *map(str, v.wrong))]
    if verdicts:
        show(records, as_json, table("Checked", columns, rows, numbers=columns[1:]), *said)
    if refused:
        raise UserError("; ".join(refused))
    if not all(verdict.passed for verdict in verdicts):
        raise SystemExit(1)


for _command in streams.COMMANDS:
    vectors.add_command(_command)
