"""Command `trace`, and command lines that repeat a failing operation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import Command, UserError, extra, load_unit, settings_option, show, table
from fp9.cli.words import OUT_FILE, UNIT
from fp9.system.reading import toml_of
from fp9_sim.cli.operations import Wanted, edited, operation_options

if TYPE_CHECKING:
    from fp9.units import Unit
    from fp9_sim.trace import Field, Trace


@click.command(cls=Command, page="how-to/verify-a-unit.md")
@click.argument("name", metavar="UNIT", type=UNIT)
@click.argument("operands", metavar="[PORT=CODE]...", nargs=-1)
@click.option("--at", metavar="INDEX", type=click.IntRange(0), help="Instead of codes: this operation of the suite.")
@operation_options
@click.option("--waves", type=OUT_FILE, help="File for the waveforms, .vcd, with a save file for GTKWave.")
@settings_option
def trace(
    name: str,
    operands: tuple[str, ...],
    at: int | None,
    waves: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Show every intermediate field of one operation of UNIT.

    The command shows the exact terms of the operation, such as its operands and exact sum, and the outputs. A further
    table lists the signals (fields) inside the generated circuit in data-flow order. With --verilog, this table also
    shows the signals' values in your own Verilog files and marks the first difference. UNIT can also be the mapping
    file of third-party RTL. Codes are numbers such as 0x3c. Ports without a given code are 0. For a unit with state,
    choose an operation of a suite with --at INDEX.

    
      fp9 trace fma_fp32_ocp a=0x39 b=0x3c b_format=1 c=0x3f800001
      fp9 trace cast_fp32_ocp_rne x=0x43e80000 --verilog cast.v
      fp9 trace mac_dlfloat16 --at 1234
    """
    with extra("sim"):
        from fp9_sim.trace import save_file, traced  # slow to load
    unit, text = _subject(name, settings)
    wanted = Wanted(simulators=(), first=None, around=at, waves=None, coverage=None, **given)
    chosen = [_codes(unit, operands)] if at is None else _history(unit, wanted, at, operands)
    found = traced(unit, chosen, edited(unit, wanted.verilog) or text, waves)
    if waves is not None:
        save_file(unit, waves)
    show(dataclasses.asdict(found), as_json, *_tables(unit, found))


def _subject(name: str, settings: tuple[str, ...]) -> tuple[Unit, str | None]:
    # For the mapping file of third-party RTL: its specification, and the RTL with its wrapper.
    if not name.endswith(".toml") or "top" not in toml_of(Path(name), "a unit or a mapping"):
        return load_unit(name, settings), None
    from fp9_sim import third_party  # slow to load

    design = third_party.load(Path(name))
    if design.latency_from_handshake or design.latency is None:
        raise UserError(f"{name}: no latency in the mapping; give latency, so that the trace finds the result")
    unit = dataclasses.replace(design.spec, stages=design.latency)  # type: ignore[call-arg]
    return unit, third_party.wrapped(design, design.latency)


def _codes(unit: Unit, operands: Iterable[str]) -> dict[str, int]:
    codes = {port.name: 0 for port in unit.inputs}
    for operand in operands:
        port, _, value = operand.partition("=")
        if port not in codes:
            raise UserError(f"{operand} given; give a code of {', '.join(codes)}, such as {next(iter(codes))}=0x3c")
        try:
            codes[port] = int(value, 0)
        except ValueError:
            raise UserError(f"{operand} given; give {port} as a code such as {port}=0x3c") from None
    return codes


def _history(unit: Unit, wanted: Wanted, at: int, operands: tuple[str, ...]) -> list[dict[str, int]]:
    if operands:
        raise UserError(f"{operands[0]} given with --at; give the codes, or the index of an operation")
    made = dataclasses.replace(wanted, around=None).vectors(unit)
    if at >= len(made):
        raise UserError(f"--at {at} given; there are {len(made):,} operations, give 0 to {len(made) - 1}")
    begins = unit.restarts(made.inputs)[: at + 1].nonzero()[0]
    low = int(begins[-1]) if len(begins) else 0
    return [{p.name: int(made.inputs[p.name][i]) for p in unit.inputs} for i in range(low, at + 1)]


def _tables(unit: Unit, found: Trace) -> list[Any]:
    tables = [table("Exact terms", ["term", "value"], found.terms)] if found.terms else []
    compared = any(field.given is not None for field in found.fields)
    columns = ["stage", "field", "bits", "circuit", *(["yours", ""] if compared else [])]
    first = found.first_difference
    rows = [[*_row(field), *(_given(field, first) if compared else [])] for field in found.fields]
    tables.append(table(f"Fields of {unit.name}", columns, rows, numbers=columns[2:5]))
    ends = [[field.name, _hex(field.model), _hex(field.given or ""), _mark(field, first)] for field in found.outputs]
    return [*tables, table("Outputs", ["output", "golden model", "circuit", ""], ends)]


def _row(field: Field) -> list[str]:
    return [field.stage, field.name, str(len(field.model)), _hex(field.model)]


def _given(field: Field, first: Field | None) -> list[str]:
    return ["not there" if field.given is None else _hex(field.given), _mark(field, first)]


def _mark(field: Field, first: Field | None) -> str:
    return "<- first difference" if field is first else "<- differs" if field.differs else ""


def _hex(bits: str) -> str:
    if not bits or set(bits) - {"0", "1"}:
        return bits
    return f"0x{int(bits, 2):0{(len(bits) + 3) // 4}x}" if len(bits) > 1 else bits


def trace_command(
    name: str, codes: Mapping[str, str], verilog: Sequence[Path] = (), settings: Sequence[str] = ()
) -> str:
    """Return the `fp9 trace` command that shows an operation of a unit without state.

    `codes` maps each input port to a hexadecimal code such as 0x3c.
    """
    words = [f"{port}={code}" for port, code in codes.items() if int(code, 16)]
    words += [f"--set {setting}" for setting in settings] + [f"--verilog {file}" for file in verilog]
    return " ".join(["fp9 trace", name, *words])


def index_command(name: str, index: int, wanted: Wanted, settings: Sequence[str] = ()) -> str:
    words = [f"--vectors {wanted.path}"] if wanted.path else [f"--suite {wanted.suite}"] if wanted.suite else []
    words += [f"--count {wanted.count}"] if wanted.count != 2000 else []
    words += [f"--seed {wanted.seed}"] if wanted.seed else []
    words += [f"--set {setting}" for setting in settings] + [f"--verilog {file}" for file in wanted.verilog]
    return " ".join(["fp9 trace", name, f"--at {index}", *words])
