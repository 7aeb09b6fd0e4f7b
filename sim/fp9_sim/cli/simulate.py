"""Command sim. It loads its packages when called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import (
    SEED,
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
from fp9.cli.words import OUT_FILE, SIMULATOR, UNIT, Words
from fp9_sim.cli.reports import NOT_COMPARED, Reports, checks_table, report_options

if TYPE_CHECKING:
    from fp9.units import Unit
    from fp9.vectors import VectorSet
    from fp9_sim import Regression

_PATH = click.Path(path_type=Path)
_SUITES = ("smoke", "corner", "random", "full")
_SHOWN = 5
"""Largest number of mismatches that are printed. The JSON holds more."""


@dataclass(frozen=True)
class Wanted:
    """The operations that the user asked for, and files to write."""

    simulators: tuple[str, ...]
    path: Path | None
    verilog: tuple[Path, ...]
    suite: str | None
    count: int
    first: int | None
    around: int | None
    seed: int
    waves: Path | None
    coverage: Path | None

    def vectors(self, unit: Unit) -> VectorSet:
        """Return the golden vectors. `around` and `first` choose a part of them."""
        from fp9 import vectors as library  # slow to load
        from fp9_sim.regression import neighbourhood  # slow to load

        if self.path is not None:
            made = library.read_for(unit, self.path)
        elif self.suite is not None:
            made = library.generate(unit, self.suite, self.count if self.suite == "random" else None, self.seed)
        else:
            corner = library.generate(unit, "corner", seed=self.seed)
            made = library.concatenate([corner, library.generate(unit, "random", self.count, self.seed)])
        if self.around is not None:
            return neighbourhood(made, self.around)
        return neighbourhood(made, 0, self.first) if self.first is not None else made


def operation_options(function: Any) -> Any:
    """Add the options that choose operations."""
    options = (
        click.option("--vectors", "path", type=_PATH, help="Vector file to simulate; default: generated."),
        click.option("--verilog", type=_PATH, multiple=True, help="Files of an edited UNIT; default: generated."),
        click.option("--suite", type=Words(_SUITES), help=f"{', '.join(_SUITES)}; default: corner and random."),
        click.option("--count", type=click.IntRange(1), default=2000, show_default=True, help="Random operations."),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of operations and stalls."),
    )
    for option in reversed(options):
        function = option(function)
    return function


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

    Runs Icarus and Verilator on the unit's corner cases and COUNT random operations, or on a vector file. A unit
    with stages runs with stalls on both sides and with resets in mid-stream. --verilog checks edited files in place
    of the generated Verilog, and --prove also proves them. Exit code 0 only if everything that was asked for passed.

    \b
      fp9 sim fma_dlfloat16
      fp9 sim cast_fp32 --verilog cast_fp32.v --prove 60 --junit build/cast.xml
      fp9 sim cast_fp32 --simulator icarus --around 1234 --waves build/cast.vcd
    """
    with extra("sim"):
        from fp9_sim import SIMULATORS, regression  # slow to load
    wanted = Wanted(**given)
    chosen = wanted.simulators or SIMULATORS
    if wanted.waves is not None and len(chosen) > 1:
        raise UserError("--waves writes one file; choose the simulator too, as in: --simulator icarus")
    regression.waves_kind(wanted.waves, chosen[0])
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
    sound = all(run.passed for run in runs)
    if reports.seconds is not None:
        doing(f"{unit.name}: a proof within {reports.seconds:g} s")
    proven, proof = regression.proof_checks(unit, text, reports.seconds, sound)
    checks = [check for run in runs for check in regression.checks_of(unit, run)] + proven
    reports.write(unit.name, checks)
    tables = [_results_table(unit, runs), *_coverage_tables(runs[0]), checks_table(checks)]
    records = [run.to_dict() | {"proof": proof.to_dict() if proof else None} for run in runs]
    show(records, as_json, *tables, *_sentences(runs), *(said for check in proven for said in check.findings))
    if not regression.passed(checks):
        raise SystemExit(1)


def edited(unit: Unit, files: tuple[Path, ...]) -> str | None:
    """Return the text of the user's files, or None without files."""
    from fp9_sim.third_party import source_text  # slow to load

    return source_text(files, unit.name) if files else None


def _sentences(runs: list[Regression]) -> list[str]:
    """Return the violations and the first mismatches, each once."""
    said = [text for run in runs for text in run.violations]
    said += [str(mismatch) for run in runs for mismatch in run.mismatches[:_SHOWN]]
    return list(dict.fromkeys(said))


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
