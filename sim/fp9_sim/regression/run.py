"""Simulate a unit's Verilog with golden vectors in cocotb, on Icarus or Verilator."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fp9_rtl
from fp9.system.files import write_whole
from fp9.units import Unit
from fp9.vectors.checks import read_for
from fp9.vectors.sets import VectorSet
from fp9_sim.bench.exchange import COVERAGE, COVERAGE_JSON, FOLDER_VARIABLE, Order, Outcome, Plan
from fp9_sim.bench.scoreboard import KEPT, Answers, Mismatch, mismatches
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import DEFAULT_FOLDER, Build, build
from fp9_sim.simulators.child import bench_settings, run_job
from fp9_sim.simulators.find import SimulatorError
from fp9_sim.simulators.style import any_style

if TYPE_CHECKING:
    from fp9_sim.coverage import FunctionalCoverage

BENCH = "fp9_sim.bench.regression_bench"

RANDOM_START = ("+verilator+rand+reset+2",)
"""Verilator option that starts registers at random values.

Verilator has no x values, so without the option an unreset register would start at zero and look correct.
"""

_SEEDS = 1 << 30


@dataclass(frozen=True)
class Regression:
    """The outcome of a simulation of a unit's vectors on one simulator.

    `violations` holds sentences about handshake violations: a result that is lost, repeated, late, changed under
    back-pressure, or left over after a reset. The test bench drives the operations in several passes, and `passes`
    lists the passes without a violation.
    """

    unit: str
    simulator: str
    version: str
    checked: int
    mismatches: tuple[Mismatch, ...]
    total_mismatches: int
    violations: tuple[str, ...]
    seconds: float
    seed: int
    waves: Path | None
    answers: Answers
    coverage: FunctionalCoverage | None = None
    passes: tuple[Plan, ...] = ()
    broken: Plan | None = None

    @property
    def passed(self) -> bool:
        """Return whether every result was correct and the handshake had no violation."""
        return not self.total_mismatches and not self.violations

    @property
    def compared(self) -> bool:
        """Return whether results were compared.

        A handshake violation ends the simulation before results are compared.
        """
        return bool(self.checked)

    def to_dict(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "simulator": self.simulator,
            "version": self.version,
            "passed": self.passed,
            "compared": self.compared,
            "checked": self.checked,
            "total_mismatches": self.total_mismatches,
            "mismatches": [mismatch.to_dict() for mismatch in self.mismatches],
            "violations": list(self.violations),
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "waves": str(self.waves) if self.waves else None,
            "coverage": self.coverage.to_dict() if self.coverage else None,
            "passes": [asdict(each) for each in self.passes],
        }


def regress(
    unit: Unit,
    vectors: VectorSet | Path | str,
    simulator: str = "icarus",
    *,
    seed: int = 0,
    stalls: bool = True,
    waves: Path | str | None = None,
    build_dir: Path | str = DEFAULT_FOLDER,
    verilog: str | None = None,
    latency: int | None = None,
    elastic: bool = False,
    coverage: Path | str | None = None,
) -> Regression:
    """Simulate a unit's Verilog with golden vectors in cocotb, and compare the results.

    `vectors` is a vector set or the path of a vector file. `seed` is the random seed for the stalls and resets of a
    unit with pipeline stages. With `stalls=False`, the test bench inserts no stalls, and the unit runs at full rate.
    `waves` is the path of the waveform file to write, with the suffix .vcd or .fst. Builds in the folder `build_dir`
    are reused. `verilog` replaces the generated Verilog by a module with the same name and ports. `latency` is the
    latency of the simulated module in clock cycles, by default the unit's own latency. If `elastic` is true, the module
    may take any number of clock cycles for an operation. If `latency` is None and the unit has operations of several
    clock cycles, such as iterative division, `elastic` is set to true. `coverage` is the path of the XML file to which
    functional coverage is written.

    Raises ValueError if there are no vectors, if the vectors belong to another unit, and for an unknown simulator or
    waveform format. Raises MissingTool if the simulator is not installed. Raises SimulatorError if the simulator
    rejects the design or gives no result.
    """
    started = time.perf_counter()
    checked = _vectors(unit, vectors)
    found = tools.find(simulator)
    kind = waves_kind(waves)
    text = fp9_rtl.verilog(unit) if verilog is None else any_style(verilog, unit.name)
    built = build(unit, text, found, Path(build_dir), kind)
    if coverage is not None:
        from fp9_sim.coverage import model_of  # slow to load

        model_of(unit)
    if latency is None:
        latency, elastic = unit.latency + unit.extra_clocks, elastic or unit.extra_clocks > 0
    order = Order(checked, seed, stalls, latency, coverage is not None, elastic)
    report = Path(coverage) if coverage is not None else None
    outcome, covered = _run(built, order, Path(waves) if waves is not None else None, report)
    first, total = ([], 0) if outcome.checked < len(checked) else mismatches(checked, outcome.answers, KEPT)
    return Regression(
        unit=unit.name,
        simulator=found.name,
        version=found.version,
        checked=outcome.checked,
        mismatches=tuple(first),
        total_mismatches=total,
        violations=outcome.violations,
        seconds=time.perf_counter() - started,
        seed=seed,
        waves=Path(waves) if waves is not None else None,
        answers=outcome.answers,
        coverage=covered,
        passes=outcome.passes,
        broken=outcome.broken,
    )


def waves_kind(waves: Path | str | None) -> str | None:
    """Return the waveform format for the suffix of a file name, or None if `waves` is None.

    Raises ValueError for a suffix other than .vcd or .fst.
    """
    if waves is None:
        return None
    kind = Path(waves).suffix.removeprefix(".")
    if kind not in ("vcd", "fst"):
        raise ValueError(f"waveform file {waves} given; give a name that ends in .vcd or .fst")
    return kind


def _vectors(unit: Unit, vectors: VectorSet | Path | str) -> VectorSet:
    checked = vectors if isinstance(vectors, VectorSet) else read_for(unit, vectors)
    if checked.unit != unit:
        raise ValueError(f"vectors of {checked.unit.name} given for {unit.name}; give vectors of the same spec")
    if not len(checked):
        raise ValueError(f"no vectors given for {unit.name}; a run that checks nothing would prove nothing")
    return checked


def _job(built: Build, order: Order, folder: Path, dumped: Path) -> tuple[dict[str, Any], dict[str, str]]:
    settings = bench_settings(BENCH, built.top, built.folder, folder)
    settings |= {"seed": order.seed, "waves": built.waves is not None}
    variables = {FOLDER_VARIABLE: str(folder)}
    if built.simulator.name == "verilator":
        settings["plusargs"] = [*RANDOM_START, f"+verilator+seed+{order.seed % _SEEDS + 1}"]
    if built.waves and built.simulator.name == "icarus":
        settings["plusargs"] = [f"+dumpfile_path={dumped}"]
        # cocotb's runner selects FST, but the last option on the command line wins.
        variables["SIM_CMD_SUFFIX"] = f"-{built.waves}"
    elif built.waves:
        settings["test_args"] = ["--trace-file", str(dumped)]
    return settings, variables


def _run(
    built: Build, order: Order, waves: Path | None, report: Path | None
) -> tuple[Outcome, FunctionalCoverage | None]:
    # If the simulation ends without a result, the temporary folder is not deleted.
    folder = Path(tempfile.mkdtemp(dir=built.folder.parent, prefix=f"run-{built.top}-{built.simulator.name}-"))
    order.write(folder)
    dumped = folder / f"waves.{built.waves}"
    settings, variables = _job(built, order, folder, dumped)
    status = run_job("test", settings, built.simulator, folder, variables)
    outcome = _outcome(built, order, folder, status)
    if waves is not None:
        waves.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(dumped, waves)
    covered = None
    if report is not None and (folder / COVERAGE_JSON).exists():
        from fp9_sim.coverage import FunctionalCoverage  # slow to load

        covered = FunctionalCoverage.from_dict(json.loads((folder / COVERAGE_JSON).read_text()))
        write_whole(report, (folder / COVERAGE).read_bytes())
    shutil.rmtree(folder)
    return outcome, covered


def _outcome(built: Build, order: Order, folder: Path, status: int) -> Outcome:
    where = f"the log is {folder / 'run.log'}"
    try:
        outcome = Outcome.read(folder)
    except FileNotFoundError:
        raise SimulatorError(f"{built.simulator.name} gave no result for {built.top}; {where}") from None
    if not outcome.checked and not outcome.violations:
        raise SimulatorError(f"{built.simulator.name} checked nothing of {built.top}; {where}")
    failed = bool(outcome.violations) or outcome.answers.wrong(order.vectors).any()
    if failed != bool(status):
        raise SimulatorError(f"{built.simulator.name} and its bench disagree on {built.top}; {where}")
    return outcome
