"""Run the steps of cocotb's Python runner in child processes.

cocotb's runner reads its settings from the environment and calls `sys.exit` under pytest. Because each step runs in its
own child process, several threads can build and simulate in parallel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fp9_sim.simulators.find import Simulator

_PROGRAM = Path(__file__).with_name("simulator_step.py")
_LIGHT = Path(__file__).with_name("light")


def bench_settings(module: str, top: str, built: Path, folder: Path) -> dict[str, Any]:
    return {
        "test_module": module,
        "hdl_toplevel": top,
        "hdl_toplevel_lang": "verilog",
        "build_dir": str(built),
        "test_dir": str(folder),
        "results_xml": str(folder / "results.xml"),
        "log_file": str(folder / "run.log"),
    }


def run_job(
    step: str,
    settings: dict[str, Any],
    simulator: Simulator,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    light: bool = True,
) -> int:
    """Run a step of cocotb's runner, "build" or "test", in `folder`. Return the exit status, 0 for success."""
    job = folder / f"{step}.json"
    job.write_text(json.dumps({"simulator": simulator.name, "step": step, "settings": settings}))
    # The runner passes its module search path to the simulator, which must find the test bench.
    # If `light` is true, cocotb imports a small module in place of pytest, with the few names that cocotb needs.
    path = os.pathsep.join(
        [*([str(_LIGHT)] if light else []), *(str(Path(entry).absolute()) for entry in sys.path if entry)]
    )
    environment = {**simulator.environment(), **(variables or {}), "PYTHONPATH": path}
    command = [sys.executable, "-P", str(_PROGRAM), str(job)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        with Path(settings["log_file"]).open("a") as log:
            log.write(done.stderr)
    return done.returncode
