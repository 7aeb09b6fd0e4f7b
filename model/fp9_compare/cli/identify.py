"""Command `fp9 identify`: finds the accumulator model of an implementation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import SEED, Command, UserError, extra, show, table
from fp9.cli.words import FORMAT, OutFile, Words
from fp9_compare.cli.presets import drawing, show_presets

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fp9.engines import Engine
    from fp9_compare.identify import Box, Explained, Fit, Interface, Rows
    from fp9_compare.identify.evidence import Evidence


def _programs() -> Iterable[str]:
    from fp9_compare.identify.probes.gpu_programs import PROGRAMS  # slow to load

    return PROGRAMS


@click.command(cls=Command, page="how-to/identify-an-accumulator.md")
@click.argument("target", required=False)
@click.option("--a", "format_a", type=FORMAT, default="e4m3", show_default=True, help="Format of the operand a.")
@click.option("--b", "format_b", type=FORMAT, help="Format of the operand b; default: that of a.")
@click.option("--result", type=FORMAT, default="fp32", show_default=True, help="Format of c and of the result.")
@click.option("--depth", type=click.IntRange(1), default=32, show_default=True, help="Products of a sum.")
@click.option("--values", is_flag=True, help="A Python function takes and returns float32 numbers, not codes.")
@click.option("--any-nan", is_flag=True, help="Treat all NaN results as equal.")
@click.option("--count", type=click.IntRange(1), default=1000, show_default=True, help="Largest number of sums to ask.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of random sums.")
@click.option("--presets", is_flag=True, help="With a folder of measured rows: try only the presets.")
@click.option("--program", type=Words(_programs), help="Write a GPU program that prints rows.")
@click.option("--out", type=OutFile(), help="File to write: the program, or an SVG chart of the search.")
def identify(
    target: str | None,
    format_a: str,
    format_b: str | None,
    result: str,
    depth: int,
    values: bool,
    any_nan: bool,
    count: int,
    seed: int,
    presets: bool,
    program: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Find the accumulator model of an implementation.

    TARGET names an implementation or a file of its results. A Python function (module:function) or a function of a
    shared library (library.so:symbol) takes the arrays a (n, k), b (n, k) and c (n,). A TOML file maps the ports of
    third-party Verilog, as for `fp9 check-rtl`. A file of rows holds dot products that a hardware unit computed. A
    folder of measured rows must have the layout of github.com/north-numerical-computing/MATLAB-tensor-core.

    The implementation computes one sum after another. The command chooses each sum so that as many accumulator models
    (engines) as possible give different results. The command prints an accumulator model, and the fields whose values
    no sum could determine. If no accumulator model reproduces every result, the command shows the first row in which
    the nearest model is wrong, and the exit code is 1.

    --program writes a GPU program. Run the program on the GPU, and give the program's output file as TARGET.

    \b
      fp9 identify mine:dot --a e4m3 --result fp32 --depth 32
      fp9 identify ./libunit.so:unit_dot --a e5m2 --result fp16
      fp9 identify --program cuda --out unit.cu --a e4m3
      fp9 identify MATLAB-tensor-core --presets
    """
    from fp9.formats import fixed_format, format  # slow to load
    from fp9_compare import identify as library  # slow to load

    interface = library.Interface(format(format_a), format(format_b or format_a), fixed_format(result), depth, any_nan)
    if program is not None:
        if target is not None:
            raise UserError(
                f"TARGET {target} given with --program; give one of them, and the program's rows afterwards"
            )
        return _write_program(interface, seed, program, out, as_json)
    if target is None:
        raise UserError("no TARGET given; give module:function, library.so:symbol, a file of rows or a TOML file")
    if presets and not Path(target).is_dir():
        raise UserError(f"--presets given with TARGET {target}; give a folder of measured rows")
    if Path(target).exists() and Path(target).suffix != ".toml":
        if out is not None:
            raise UserError(f"--out {out} given with measured rows; it shows how a unit was asked, so give a unit")
        return show_presets(Path(target), as_json) if presets else _explain(target, any_nan, as_json)
    found = library.fit(_box(target, interface, values), count, seed)
    if out is not None:
        with extra("rtl"):
            from fp9_compare.identify import picture  # optional, slow to load
        picture.write(found, out)
    return _show(found, as_json)


def _write_program(interface: Interface, seed: int, program: str, out: Path | None, as_json: bool) -> None:
    from fp9.system.files import write_whole  # slow to load
    from fp9_compare.identify.probes.gpu_programs import PROGRAMS  # slow to load

    if program not in PROGRAMS:
        raise UserError(f"--program {program} given; give {', '.join(PROGRAMS)}")
    if out is None:
        raise UserError(f"--program {program} given without --out; give the file to write")
    text = PROGRAMS[program](interface, seed)
    write_whole(out, text)
    show([str(out)], as_json, f"{out}: {text.splitlines()[2].lstrip('/# ')}")


def _box(target: str, interface: Interface, values: bool) -> Box:
    from fp9_compare.identify.loaders import LOADERS, load_box, loader_of  # slow to load

    if not target.endswith(".toml"):
        if ":" not in target:
            raise UserError(
                f"{target!r} given, which is no file here; give module:function, library.so:symbol, a file of rows or "
                "a TOML file"
            )
        return load_box(target, interface, values)
    found = loader_of(".toml")
    if found is None:
        raise UserError(f"{target} given, and no installed package opens TOML files (entry points {LOADERS})")
    box: Box = found(Path(target))
    return box


# --- units ----------------------------------------------------------------------------------------------------------


def _show(found: Fit, as_json: bool) -> None:
    from fp9_compare.identify.fields import spelled  # slow to load
    from fp9_compare.identify.measured import said  # slow to load

    also = _also(found.nearest, found.equal)
    fields = {name: spelled(value) for name, value in found.nearest.parameters.items()}
    record: dict[str, Any] = {
        "unit": found.name,
        "engine": found.engine.name if found.engine else None,
        "nearest": found.nearest.name,
        "fields": fields,
        "not_distinguished": {name: said(values) for name, values in also.items()},
        "presets": [engine.name for engine in found.equal if "(" not in engine.name],
        "calls": found.calls,
    }
    rows = [[name, value, record["not_distinguished"].get(name, "")] for name, value in fields.items()]
    title = f"{found.name}: {found.nearest.name}" if found.engine else f"{found.name}: nearest is {found.nearest.name}"
    shown: list[RenderableType] = [table(title, ["field", "value", "not distinguished from"], rows)]
    verdict = f"engine {found.nearest.name}, from {found.calls} sums"
    if found.engine is None:
        _draw_difference(found.evidence, found.nearest, found.differs, record, shown)
        verdict = f"no engine gives this row; {found.calls} sums were tested"
    show(record, as_json, *shown, verdict)
    if found.engine is None:
        click.get_current_context().exit(1)


def _also(engine: Engine, equal: tuple[Engine, ...]) -> dict[str, list[Any]]:
    from fp9_compare.identify.fields import differences  # slow to load

    found: dict[str, list[Any]] = {}
    for other in equal:
        changed = differences(engine, other)
        if len(changed) == 1:
            for name, value in changed.items():
                found.setdefault(name, []).append(value)
    return found


def _draw_difference(
    evidence: Evidence, engine: Engine, row: int | None, record: dict[str, Any], shown: list[RenderableType]
) -> None:
    import numpy as np  # slow to load

    from fp9.casts.arrays import encode  # slow to load
    from fp9_compare.identify.rows import inputs  # slow to load
    from fp9_compare.measured_rows import steps_of  # slow to load

    assert row is not None, "if no engine explains all rows, one row differs"
    io, vector = evidence.interface, evidence.vectors.take([row])
    unit = float(evidence.results[row : row + 1].view(np.float64)[0])
    c = int(encode(vector.c, engine.addend_format, "rne", "inf")[0])
    steps = steps_of(engine, vector.a[0].tolist(), vector.b[0].tolist(), io.a, io.b, c)
    record["differs"] = {"row": inputs(io, vector)[0], "unit": unit, "agree": evidence.agreement(engine)}
    shown.append(drawing(f"row {row + 1} as {engine.name} computes it; the unit gave {unit:.9g}", steps))
    shown.append(f"a, b and c of the row: {record['differs']['row']}")


# --- rows -----------------------------------------------------------------------------------------------------------


def _explain(target: str, any_nan: bool, as_json: bool) -> None:
    from fp9_compare.identify import fit_rows, read, tensor_cores  # slow to load

    path = Path(target)
    files: list[Rows] = list(tensor_cores.read(path)) if path.is_dir() else [read(path, any_nan)]
    found = [fit_rows(rows) for rows in files]
    records: list[dict[str, Any]] = []
    shown: list[RenderableType] = []
    for explained in found:
        record = _explained(explained)
        records.append(record)
        if explained.engine is None:
            _draw_difference(explained.evidence, explained.nearest, explained.differs, record, shown)
    columns = ["rows of", "rule", "C", "rows", "agree", "fields that these rows do not determine"]
    lines = [[r["unit"], _rule(r), r["c"], r["rows"], r["agree"], _open(r)] for r in records]
    show(records, as_json, table("Rules of measured rows", columns, lines, numbers=["rows", "agree"]), *shown)
    if any(explained.engine is None for explained in found):
        click.get_current_context().exit(1)


def _rule(record: dict[str, Any]) -> str:
    return " = ".join(record["presets"]) or record["engine"] or f"none; nearest {record['nearest']}"


def _open(record: dict[str, Any]) -> str:
    return "; ".join(f"{name} {values}" for name, values in record["not_distinguished"].items())


def _explained(found: Explained) -> dict[str, Any]:
    from fp9_compare.identify.measured import open_values, said  # slow to load

    open_fields = open_values(found.evidence, found.nearest) if found.engine else {}
    return {
        "unit": found.rows.name,
        "engine": found.engine.name if found.engine else None,
        "nearest": found.nearest.name,
        "presets": list(found.presets),
        "c": "added" if found.with_c else "+0",
        "rows": len(found.evidence),
        "agree": found.evidence.agreement(found.nearest),
        "not_distinguished": {name: said(values) for name, values in open_fields.items()},
    }
