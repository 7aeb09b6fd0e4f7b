"""Command `check-rtl`, which checks third-party RTL against a unit specification."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import Command, UserError, doing, extra, show, table
from fp9.cli.words import OUT_FILE, SIMULATOR
from fp9.system.files import write_whole
from fp9_rtl.cli import library_options
from fp9_sim.cli.reports import NOT_COMPARED, SHOWN, Reports, checks_table, report_options
from fp9_sim.cli.trace import trace_command

if TYPE_CHECKING:
    from fp9_sim.third_party import Design, Verdict


_PATH = click.Path(path_type=Path)


@click.command("check-rtl", cls=Command, page="how-to/check-your-rtl.md")
@click.argument("paths", metavar="MAPPING", nargs=-1, required=True, type=_PATH)
@click.option("--init", is_flag=True, help="Print a mapping; MAPPING is then files, folders, .f or .core.")
@click.option("--include", type=_PATH, multiple=True, help="With --init: a folder of include files.")
@click.option("--define", "defines", metavar="NAME[=VALUE]", multiple=True, help="With --init: a macro.")
@click.option("--parameter", "parameters", metavar="NAME=VALUE", multiple=True, help="With --init: of the module.")
@click.option("--top", help="With --init: the module; by default the one that no other uses.")
@click.option("--wrapper", type=OUT_FILE, help="Only write a wrapper with the ports of the specification.")
@click.option("--area", type=_PATH, help="Only compare its area with fp9's unit, and write this record.")
@library_options
@click.option("--simulator", type=SIMULATOR, default="verilator", show_default=True, help="verilator or icarus.")
@click.option("--count", type=click.IntRange(1), default=20_000, show_default=True, help="Random operations.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of operations and stalls.")
@report_options
def check_rtl(
    paths: tuple[Path, ...],
    init: bool,
    include: tuple[Path, ...],
    defines: tuple[str, ...],
    parameters: tuple[str, ...],
    top: str | None,
    wrapper: Path | None,
    area: Path | None,
    libraries: tuple[str, ...],
    liberty: tuple[Path, ...],
    leave_out: tuple[str, ...],
    simulator: str,
    count: int,
    seed: int,
    as_json: bool,
    reports: Reports,
) -> None:
    """Check third-party RTL against a unit's specification.

    MAPPING is a TOML file with the keys files, top and unit. The value of "unit" is the name of a catalogue unit, or a
    TOML table with the fields of a unit specification. Further TOML tables describe how the design differs from the
    specification: "ports" (fp9's name = the design's name), "constants", "clock", "reset" and others. The page
    docs/reference/mapping.md explains every key. The exit code is 0 only if all requested checks passed. With --area,
    the command measures areas in osu018 and nangate45, or in the given libraries.

    
      fp9 check-rtl --init rtl/ --include rtl/include --define FAST=1 > acme_cast.toml
      fp9 check-rtl acme_cast.toml
      fp9 check-rtl acme_cast.toml --prove 60 --junit build/acme.xml
      fp9 check-rtl acme_cast.toml --area areas.json --liberty sg13g2_stdcell_typ_1p20V_25C.lib
    """
    with extra("sim"):
        from fp9_sim import regression, third_party  # slow to load
    if init:
        text = third_party.draft(paths, top, third_party.Given(include, defines, parameters))
        show({"mapping": text}, as_json, text)
        return
    if len(paths) > 1:
        raise UserError(f"{len(paths)} mappings given; give one, or --init for the files of a unit")
    if not area and (libraries or liberty or leave_out):
        raise UserError("libraries given without --area; give the record of areas, or leave them out")
    design = third_party.load(paths[0])
    if wrapper is not None:
        if design.latency is None:
            raise UserError(f"{paths[0]}: --wrapper needs the latency; give it in the mapping")
        write_whole(wrapper, third_party.wrapped(design, design.latency))
        show({"file": str(wrapper)}, as_json, f"{design.spec.name}: {design.top} with these ports in {wrapper}")
        return
    if area:
        _measure(design, area, as_json, libraries, liberty, leave_out)
        return
    doing(f"{design.top}: the suite of {design.spec.name} and {count:,} random operations on {simulator}")
    verdict = third_party.check_rtl(design, simulator, count=count, seed=seed)
    total = verdict.total_mismatches
    reasons = [
        f"{e.says} ({e.explains} of {total} mismatches" + (f"; {e.contradicts} against)" if e.contradicts else ")")
        for e in verdict.explanations
    ]
    if reports.seconds is not None:
        doing(f"{design.top}: a proof within {reports.seconds:g} s")
    proven = third_party.design_proof(design, reports.seconds, verdict.passed)
    checks = [*verdict.checks, *proven]
    reports.write(design.top, checks)
    record = {
        "top": verdict.top,
        "simulator": verdict.simulator,
        "latency": verdict.latency,
        "passed": verdict.passed,
        "checked": verdict.checked,
        "total_mismatches": total,
        "mismatches": [mismatch.to_dict() for mismatch in verdict.mismatches],
        "violations": list(verdict.violations),
        "protocol": asdict(verdict.protocol) if verdict.protocol else None,
        "explanations": reasons,
        "unexplained": verdict.explained.unexplained,
        "checks": [asdict(check) for check in checks],
    }
    said = [*verdict.violations, *reasons, *(str(mismatch) for mismatch in verdict.mismatches)]
    if verdict.explained.unexplained:
        said.insert(0, f"{verdict.explained.unexplained} of {total} mismatches: no known difference explains them")
        groups = verdict.explained.clusters[:SHOWN]
        said[1:1] = [
            f"  {group.operations} of them: {group.says}; operation {group.simplest} is one" for group in groups
        ]
    said += [text for check in proven for text in check.findings]
    said += _command(paths[0], design, verdict)
    show(record, as_json, *_tables(verdict), checks_table(checks), *said)
    if not regression.passed(checks):
        raise SystemExit(1)


def _command(path: Path, design: Design, verdict: Verdict) -> list[str]:
    if not verdict.mismatches or design.spec.has_state or design.latency_from_handshake or design.latency is None:
        return []
    codes = {port: f"0x{value.hex}" for port, value in verdict.mismatches[0].inputs.items()}
    return [f"to see its fields: {trace_command(str(path), codes)} --waves waves.vcd"]


def _tables(verdict: Verdict) -> list[Any]:
    total = f"{verdict.total_mismatches:,}" if verdict.checked else NOT_COMPARED
    rows = [[verdict.simulator, f"{verdict.checked:,}", total]]
    if verdict.protocol:
        name, again = f"{verdict.protocol.simulator}, stalls and resets", verdict.protocol
        rows.append([name, f"{again.operations:,}", NOT_COMPARED if again.violations else "0"])
    columns = ["simulator", "operations", "mismatches"]
    return [table(verdict.top, columns, rows, numbers=columns[1:])]


def _measure(
    design: Design,
    record: Path,
    as_json: bool,
    libraries: tuple[str, ...],
    liberty: tuple[Path, ...],
    leave_out: tuple[str, ...],
) -> None:
    from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, chosen  # slow to load
    from fp9_sim.third_party import area  # slow to load

    given = libraries or liberty or leave_out
    cells = chosen(libraries if given else SIDE_BY_SIDE, liberty, leave_out)
    doing(f"{design.top} and {design.spec.name} in {' and '.join(library.name for library in cells)}")
    found = area.areas(design, cells)
    area.keep(found, record)
    rows = [
        [
            one.library,
            one.mapping,
            f"{one.theirs:,.0f}",
            f"{one.ours:,.0f}",
            f"{one.ratio:.2f}",
            f"{one.theirs_ns:.2f}",
            f"{one.ours_ns:.2f}",
        ]
        for one in found
    ]
    columns = ["library", "mapping", "theirs, gates", "ours", "of it", "theirs, ns", "ours"]
    show([asdict(one) for one in found], as_json, table(design.top, columns, rows, numbers=columns[2:]))
