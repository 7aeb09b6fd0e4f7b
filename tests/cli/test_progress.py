"""What commands show while they are under way, and what they do not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_output import ESCAPE, on_a_terminal

SLOW = """
import sys, time, click
from fp9.cli import progress
from fp9.cli.support import Command, Commands, doing, progress_bar, show
progress._AFTER, progress._KEPT_FROM = 0.1, 0.2

@click.group(cls=Commands)
def main(): pass

@click.command(cls=Command)
@click.option("--steps", is_flag=True)
def slow(steps, as_json):
    '''Wait a little.'''
    time.sleep(0.6)
    doing("resting") if not steps else None
    with progress_bar(keep=steps) as progress:
        if steps: progress("second of three", 1, 3)
        time.sleep(0.6)
    show({}, as_json, "done")

main.add_command(slow)
main(prog_name="fp9")
"""
COMMAND = [sys.executable, "-c", SLOW, "slow"]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"FP9_CACHE": str(tmp_path)}


@pytest.mark.slow
def test_a_command_says_what_it_does_and_how_long_it_took_the_last_time(home: dict[str, str]) -> None:
    first = ESCAPE.sub("", on_a_terminal(100, command=COMMAND, **home))
    assert "Wait a little" in first and "resting" in first and "the last time" not in first
    assert first.splitlines()[-1].strip() == "done"
    again = ESCAPE.sub("", on_a_terminal(100, command=COMMAND, **home))
    assert re.search(r"resting, \d+ s in total the last time", again)


@pytest.mark.slow
def test_steps_are_counted(home: dict[str, str]) -> None:
    assert "1/3 second of three" in ESCAPE.sub("", on_a_terminal(100, "--steps", command=COMMAND, **home))


@pytest.mark.slow
def test_quiet_shows_nothing_but_the_result(home: dict[str, str]) -> None:
    assert on_a_terminal(100, "--quiet", "--steps", command=COMMAND, **home) == "done\n"


@pytest.mark.slow
def test_a_pipe_gets_the_result_alone_and_lines_of_steps_on_standard_error(home: dict[str, str]) -> None:
    done = subprocess.run([*COMMAND, "--steps"], capture_output=True, text=True, check=True, env={**home})
    assert (done.stdout, done.stderr) == ("done\n", "[1/3] second of three\n")


@pytest.mark.slow
def test_compiling_kernels_is_said_once(tmp_path: Path) -> None:
    code = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
import fp9.kernels
from numba import njit
for step in (1, 2):
    njit(lambda x: x + step)(np.float64(1))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr == "compiling kernels, once on this machine\n"
