"""One step of cocotb's Python runner in a child process: `python -m fp9_sim.job JOB.json`.

In a child, because the runner takes its settings from the environment and leaves by `sys.exit` under pytest; so threads
can build and run side by side, and the caller's environment stays as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from fp9_sim.tools import Simulator


def run_job(step: str, settings: dict[str, Any], simulator: Simulator, folder: Path, **variables: str) -> int:
    """Run a step ("build" or "test") of the runner in `folder`; the exit status, 0 for a build or a test that passed.

    `settings` are the step's keyword arguments, its `log_file` among them; `variables` are added to the environment.
    """
    job = folder / f"{step}.json"
    job.write_text(json.dumps({"simulator": simulator.name, "step": step, "settings": settings}))
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    environment = {**simulator.environment(), **variables, "PYTHONPATH": path}
    command = [sys.executable, "-m", "fp9_sim.job", str(job)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        with Path(settings["log_file"]).open("a") as log:
            log.write(done.stderr)
    return done.returncode


def main(path: str) -> int:
    """Run the step that the file names."""
    job = json.loads(Path(path).read_text())
    runner = get_runner(job["simulator"])
    try:
        if job["step"] == "build":
            runner.build(**job["settings"])
            return 0
        tests, failed = get_results(runner.test(**job["settings"]))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if tests and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
