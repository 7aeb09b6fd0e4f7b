"""Command `sim`, which simulates a unit's Verilog against golden vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import (
    Command,
    UserError,
    doing,
    extra,
    load_unit,
    progress_bar,
    settings_option,
    show,
    table,
)
from fp9.cli.words import OUT_FILE, SIMULATOR, UNIT
from fp9_sim.cli.operations import Wanted, edited, operation_options
from fp9_sim.cli.reports import NOT_COMPARED, SHOWN, Reports, checks_table, report_options
from fp9_sim.cli.trace import index_command, trace_command

if TYPE_CHECKING:
    from fp9.units import Unit
    from fp9_sim import Regression


@click.command(cls=Command, page="how-to/verify-a-unit.md")
@click.argument("name", metavar="UNIT", type=UNIT)
@click.option("--simulator", "simulators", type=SIMULATOR, multiple=True, help="icarus or verilator; default: both.")
@operation_options
@click.option("--first", type=click.IntRange(1), help="Simulate only the first operations.")
@click.option("--around", metavar="INDEX", type=click.IntRange(0), help="Simulate only this operation and neighbours.")
@click.option("--waves", type=OUT_FILE, help="File for the waveforms (of one simulator).")
@click.option("--coverage", type=OUT_FILE, help="XML file for the functional coverage; prints it, too.")
@report_options
@settings_option
def sim(name: str, settings: tuple[str, ...], as_json: bool, reports: Reports, **given: Any) -> None:
    """Simulate the Verilog of UNIT against golden vectors.

    Icarus and Verilator simulate the corner suite and COUNT random operations, or the operations of a vector file. A
    unit with stages is simulated with stalls on both sides and with resets in mid-stream. With --verilog, edited files
    are simulated in place of the generated Verilog. With --prove, solvers also try to prove the Verilog right for all
    inputs. The exit code is 0 only if all requested checks passed.

    \b
      fp9 sim fma_dlfloat16
      fp9 sim cast_fp32 --verilog cast_fp32.v --prove 60 --junit build/cast.xml
      fp9 sim cast_fp32 --simulator icarus --around 1234 --waves build/cast.vcd
    """
    with extra("sim"):
        from fp9_sim import SIMULATORS, regression  # slow to load
        from fp9_sim.trace import save_file  # slow to load
    wanted = Wanted(**given)
    chosen = wanted.simulators or SIMULATORS
    if wanted.waves is not None and len(chosen) > 1:
        raise UserError("--waves writes one file; choose the simulator too, as in: --simulator icarus")
    regression.waves_kind(wanted.waves)
    unit = load_unit(name, settings)
    doing(f"{unit.name}: golden vectors")
    vectors, text = wanted.vectors(unit), edited(unit, wanted.verilog)
    runs = []
    with progress_bar() as progress:
        for done, simulator in enumerate(chosen):
            progress(f"{unit.name}: {len(vectors)} operations on {simulator}", done, len(chosen))
            run = regression.regress(
                unit,
                vectors,
                simulator,
                seed=wanted.seed,
                waves=wanted.waves,
                coverage=wanted.coverage,
                verilog=text,
            )
            runs.append(run)
    if wanted.waves is not None:
        save_file(unit, wanted.waves)
    sound = all(run.passed for run in runs)
    if reports.seconds is not None:
        doing(f"{unit.name}: a proof within {reports.seconds:g} s")
    proven, proof = regression.proof_checks(unit, text, reports.seconds, sound)
    checks = [check for run in runs for check in regression.checks_of(unit, run)] + proven
    reports.write(unit.name, checks)
    tables = [_results_table(unit, runs), *_coverage_tables(runs[0]), checks_table(checks)]
    records = [run.to_dict() | {"proof": proof.to_dict() if proof else None} for run in runs]
    said = [*_sentences(runs), *(text for check in proven for text in check.findings)]
    show(records, as_json, *tables, *said, *_hints(name, unit, wanted, settings, runs))
    if not regression.passed(checks):
        raise SystemExit(1)


def _sentences(runs: list[Regression]) -> list[str]:
    said = [text for run in runs for text in run.violations]
    said += [str(mismatch) for run in runs for mismatch in run.mismatches[:SHOWN]]
    return list(dict.fromkeys(said))


def _hints(name: str, unit: Unit, wanted: Wanted, settings: tuple[str, ...], runs: list[Regression]) -> Iterator[str]:
    first = next((mismatch for run in runs for mismatch in run.mismatches), None)
    if first is None or unit.group > 1 or wanted.first is not None or wanted.around is not None:
        return
    if unit.has_state:
        command = index_command(name, first.index, wanted, settings)
    else:
        codes = {port: f"0x{value.hex}" for port, value in first.inputs.items()}
        command = trace_command(name, codes, wanted.verilog, settings)
    yield f"to see its fields: {command}"
    yield f"to see its waveforms, add to your command: --simulator icarus --around {first.index} --waves waves.vcd"


def _results_table(unit: Unit, runs: list[Regression]) -> Any:
    rows = [
        [r.simulator, r.checked, r.total_mismatches if r.compared else NOT_COMPARED, f"{r.seconds:.1f}"] for r in runs
    ]
    columns = ["simulator", "operations", "mismatches", "seconds"]
    return table(unit.name, columns, rows, numbers=columns[1:])


def _coverage_tables(regression: Regression) -> list[Any]:
    if regression.coverage is None:
        return []
    rows = [[item.name, item.bins, item.met, "; ".join(item.holes[:4])] for item in regression.coverage.items]
    columns = ["point or cross", "bins", "met", "holes (the first four)"]
    return [table("Functional coverage", columns, rows, numbers=columns[1:3])]
