"""Run one step of cocotb's Python runner as a program: `python simulator_step.py JOB.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner


def main(path: str) -> int:
    """Run a step of cocotb's runner. Return 0 for success, 1 for a failed test, and 2 for an error."""
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
