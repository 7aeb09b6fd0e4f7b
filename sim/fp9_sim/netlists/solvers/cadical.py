"""The SAT solver CaDiCaL as a separate process that terminates itself at its time limit."""

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
"""A disjunction of variables, numbered from 1. A negative number stands for an inverted variable."""


def version() -> str:
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise MissingTool(f"{PACKAGE} is not installed; install it with: {install_hint('sim')}") from None


def model(clauses: Sequence[Clause], timeout: float, *, processor: bool = False) -> frozenset[int] | None:
    """Return the true variables of a satisfying assignment, or None if the clauses are unsatisfiable.

    Raises TimeoutError after `timeout` seconds of wall-clock time, or of processor time if `processor` is true.
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
