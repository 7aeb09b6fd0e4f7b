"""Build a design and its C++ program by Verilator, as a user does."""

from __future__ import annotations

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from fp9.system.missing import MissingTool
from fp9_sim.simulators import objects
from fp9_sim.simulators.find import Simulator, verilator


def simulator() -> Simulator:
    """Return Verilator from the Python environment. Skips the test if Verilator is not installed."""
    try:
        return verilator()
    except MissingTool as missing:
        pytest.skip(str(missing))


def shared_library(folder: Path, *options: str) -> AbstractContextManager[None]:
    """Provide Verilator's compiled library while a design is built in `folder`.

    Builds with other compiler options than those of a simulation name them, and share a library of their own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = simulator()
    return objects.library([found.version, found.environment()["MAKEFLAGS"], *options], folder)


def built(folder: Path, *arguments: str) -> Path:
    """Run `verilator --cc --exe --build` in `folder`, and return the folder of the build."""
    found = simulator()
    environment, made = found.environment(), folder / "obj_dir"
    with shared_library(made):
        done = subprocess.run(
            [str(found.folder / "verilator"), "--cc", "--exe", "--build", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return made
