"""Clauses given to the SAT solver CaDiCaL, in a process of its own, which ends by itself when its time is over."""

from __future__ import annotations

import importlib.metadata
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fp9.system.missing import MissingTool, install_hint

PACKAGE = "python-sat"

Clause = Sequence[int]
"""Variables of which one at least is true, numbered from 1, or false where the number is negative."""


def version() -> str:
    """Version of the installed package that has the solver. Raises MissingTool when there is none."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise MissingTool(f"{PACKAGE} is not installed; install it with: {install_hint('sim')}") from None


def model(clauses: Sequence[Clause], timeout: float, *, processor: bool = False) -> frozenset[int] | None:
    """The true variables of an assignment that satisfies all clauses, None where there is none.

    Raises TimeoutError where neither is found within `timeout` seconds, with `processor` of the processor alone,
    MissingTool where the solver is not installed.
    """
    version()
    command = [sys.executable, "-P", str(Path(__file__).with_name("cadical_process.py")), str(max(timeout, 1e-3))]
    command += ["processor"] if processor else []
    done = subprocess.run(command, input=json.dumps(clauses), capture_output=True, text=True, check=False)
    if -done.returncode in (signal.SIGALRM, signal.SIGPROF):
        raise TimeoutError
    if done.returncode:
        raise RuntimeError(f"CaDiCaL ended with exit code {done.returncode}: {done.stderr.strip()[-200:]}")
    found = json.loads(done.stdout)
    return None if found is None else frozenset(found)
