"""Child processes that run the steps of cocotb's Python runner.

The runner reads its settings from the environment and ends with `sys.exit` under pytest. In child processes,
threads can build and run in parallel, and the caller's environment stays unchanged.
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
"""Folder of small modules that replace larger ones in child processes."""


def run_job(
    step: str,
    settings: dict[str, Any],
    simulator: Simulator,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    light: bool = True,
) -> int:
    """Run a step of the runner, "build" or "test", in `folder`. Return the exit status, 0 for success.

    `settings` are the step's keyword arguments, including `log_file`. `variables` are added to the environment.
    `light` replaces pytest by a small module, which fp9's own test benches do not notice.
    """
    job = folder / f"{step}.json"
    job.write_text(json.dumps({"simulator": simulator.name, "step": step, "settings": settings}))
    # The runner hands its own search path on to the simulator, where the bench has to be found.
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
