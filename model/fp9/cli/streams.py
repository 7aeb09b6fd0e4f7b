"""Commands `fp9 vectors gen` and `fp9 vectors ver`, which stream vectors through a pipe."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from fp9.cli.support import SEED, Command, UserError, load_unit, settings_option, show, table
from fp9.cli.words import UNIT
from fp9.system.reading import not_text

_SHOWN = 20


@click.command(cls=Command, page="how-to/export-vectors.md")
@click.argument("name", metavar="UNIT", type=UNIT)
@click.option("--level", type=int, default=1, show_default=True, help="1: systematic cases; 2: random ones, too.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the random operations.")
@click.option("--forever", is_flag=True, help="Continue with random operations until the reader closes the pipe.")
@settings_option
def gen(name: str, level: int, seed: int, forever: bool, settings: tuple[str, ...], as_json: bool) -> None:
    """Print operations of UNIT with results, one per line.

    A line holds the inputs and outputs in port order, in hex, as in a .vec file. The value x means that an output is
    not defined. With --json, the command prints the names and widths of the columns, and no operations.

    \b
      fp9 vectors gen fma_fp32_ocp | head
      fp9 vectors gen cast_fp32 --level 2 --seed 7 | ./my_bench | fp9 vectors ver cast_fp32
    """
    from fp9.vectors import streams  # slow to load

    unit = load_unit(name, settings)
    if as_json:
        columns = [{"port": port.name, "bits": port.width} for port in (*unit.inputs, *unit.outputs)]
        return show({"unit": unit.name, "columns": columns}, as_json)
    for lines in streams.generated(unit, level, seed, forever=forever):
        sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()
    return None


@click.command(cls=Command, page="how-to/export-vectors.md")
@click.argument("name", metavar="UNIT", type=UNIT)
@click.argument("source", metavar="[FILE]", type=click.File(), default="-")
@settings_option
def ver(name: str, source: TextIO, settings: tuple[str, ...], as_json: bool) -> None:
    """Compare results with the golden model of UNIT.

    The command reads lines in the layout of `fp9 vectors gen` from FILE or standard input. Each line holds operands and
    the results of another implementation. The exit code is 1 if a result differs.

    \b
      fp9 vectors ver cast_fp32 results.vec
      fp9 vectors gen cast_fp32 | ./my_bench | fp9 vectors ver cast_fp32
    """
    from fp9.vectors import streams  # slow to load

    unit = load_unit(name, settings)
    try:
        verdict = streams.verified(unit, source, _SHOWN)
    except UnicodeDecodeError as error:
        raise UserError(f"{source.name} {not_text(error)}; give lines of hex, as gen prints them") from None

    def hexed(values: dict[str, int]) -> str:
        return " ".join(f"{port}={value:x}" for port, value in values.items())

    rows = [[wrong.line, hexed(wrong.operands), hexed(wrong.expected), hexed(wrong.found)] for wrong in verdict.first]
    found = table(unit.name, ["line", "operands", "expected", "found"], rows, numbers=["line"])
    said = f"{unit.name}: {verdict.lines} operations, {verdict.wrong} wrong"
    show(streams.as_record(verdict), as_json, *([found] if rows else []), said)
    if verdict.wrong:
        raise SystemExit(1)


COMMANDS = (gen, ver)
