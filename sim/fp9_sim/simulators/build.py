"""Build designs for a simulator, once per design, in a folder that concurrent processes can share."""

from __future__ import annotations

import contextlib
import ctypes.util
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cocotb_tools

from fp9.system.missing import MissingTool
from fp9.units import Unit
from fp9_sim.simulators.child import run_job
from fp9_sim.simulators.find import ICARUS_ARGUMENTS, ICARUS_FATAL, VERILATOR_ARGUMENTS, Simulator, SimulatorError
from fp9_sim.simulators.objects import library, publish, shared

DEFAULT_FOLDER = Path("build/sim")

# cocotb's runner makes every signal public, which doubles the time of a build; the ports are enough.
# A design in several source files compiles a header of its own, which takes more time than the design. By default,
# Verilator splits a design at a fifth of this size.
_VERILATOR_ARGUMENTS = (*VERILATOR_ARGUMENTS, "--no-public-flat-rw", "--output-split", "100000")

_HEADER = "runtime.h"
"""Name of the precompiled header with Verilator's runtime headers, which take most of a build's time.

Builds with waveforms cannot use the precompiled header, because their macro definitions differ.
"""

_TOP = "Vtop"

_INCLUDED = ("verilated.h", "verilated_syms.h", "verilated_vpi.h")

_FEATURES = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")


@dataclass(frozen=True)
class Build:
    """A built design, which can be simulated any number of times."""

    simulator: Simulator
    top: str
    folder: Path
    waves: str | None


def build(unit: Unit, verilog: str, simulator: Simulator, folder: Path, waves: str | None = None) -> Build:
    ports = (*unit.inputs, *unit.outputs, *unit.control_inputs, *unit.control_outputs)
    return build_design(unit.name, [port.name for port in ports], verilog, simulator, folder, waves)


def build_design(
    name: str, ports: Sequence[str], verilog: str, simulator: Simulator, folder: Path, waves: str | None = None
) -> Build:
    """Build the Verilog module `name` for a simulator, or reuse an earlier build of the same design.

    `ports` lists the names of the ports that a test bench reads or drives. `waves` is "vcd", "fst" or None. Raises
    SimulatorError if the simulator rejects the design.
    """
    arguments = ICARUS_ARGUMENTS if simulator.name == "icarus" else _VERILATOR_ARGUMENTS
    # The compiled program contains the path of cocotb's libraries.
    options = [simulator.name, simulator.version, cocotb_tools.__file__, str(waves), *arguments]
    key = hashlib.sha256(json.dumps([name, verilog, *options]).encode()).hexdigest()[:16]
    final = folder.absolute() / f"{name}-{simulator.name}-{key}"
    result = Build(simulator, name, final, waves)
    if final.is_dir():
        return result
    final.parent.mkdir(parents=True, exist_ok=True)
    # The build runs in a temporary folder that is renamed at the end, so the final folder is always complete.
    working = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}."))
    try:
        with library([simulator.version, simulator.environment()["MAKEFLAGS"]], working):
            said = _compile(name, ports, verilog, simulator, arguments, waves, working)
        if said is not None:
            log = final.with_suffix(".log")
            log.write_text(said)
            raise SimulatorError(f"{simulator.name} refuses {name}: {first_error(said)}; all of it is in {log}")
        publish(working, final)
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return result


def _compile(
    name: str,
    ports: Sequence[str],
    verilog: str,
    simulator: Simulator,
    arguments: tuple[str, ...],
    waves: str | None,
    working: Path,
) -> str | None:
    """Build a design. Return None on success, or the messages of the simulator on failure."""
    source, control, log = working / f"{name}.v", working / "ports.vlt", working / "build.log"
    source.write_text(verilog)
    control.write_text(_public_ports(name, ports))
    writer = ["--trace-fst", *_offer_lz4(working)] if (simulator.name, waves) == ("verilator", "fst") else []
    settings = {
        "sources": [str(source), *([str(control)] if simulator.name == "verilator" else [])],
        "hdl_toplevel": name,
        "build_dir": str(working),
        "build_args": [*arguments, *writer],
        "always": True,
        "waves": waves is not None,
        "log_file": str(log),
    }
    headers = {}
    if simulator.name == "verilator":
        _offer_headers(working)
        headers = _headers(simulator, working) if waves is None else {}
    status = run_job("build", settings, simulator, working, headers)
    said = log.read_text(errors="replace").replace(f"{working}/", "")
    return said if status or ICARUS_FATAL in said else None


def _offer_headers(working: Path) -> None:
    # Plain source files replace the headers that Verilator would precompile for large designs. The C++ compiler accepts
    # only one precompiled header, which is already the header of Verilator's runtime.
    for variant in ("fast", "slow"):
        (working / f"{_TOP}__pch.h.{variant}").write_text(f'#include "{_TOP}__pch.h"\n')


_LZ4 = """extern "C" int LZ4_compressBound(int size);
extern "C" int LZ4_compress_default(const char* source, char* target, int size, int capacity);
"""


def _offer_lz4(working: Path) -> list[str]:
    """Let Verilator's FST writer use the system's lz4 library, and return the arguments of the build."""
    library = ctypes.util.find_library("lz4")
    if library is None:
        raise MissingTool("Verilator's FST writer needs lz4; install it with: apt-get install liblz4-1 zlib1g-dev")
    # Many systems have the lz4 library without the header file and without the file name that the linker needs.
    (working / "lz4.h").write_text(_LZ4)
    (working / "liblz4.so").write_text(f"INPUT(-l:{library})\n")
    return ["-CFLAGS", f"-I{working}", "-LDFLAGS", f"-L{working}"]


def _headers(simulator: Simulator, working: Path) -> dict[str, str]:
    """Return environment variables that make a build use precompiled Verilator headers."""
    include = simulator.folder.parent / "include"
    defined = ["-DVERILATOR=1", *(f"-DVM_{feature}=0" for feature in _FEATURES)]
    command = ["c++", "-O1", f"-I{include}", f"-I{include}/vltstd", *defined, "-x", "c++-header", _HEADER]

    def compiled(folder: Path) -> None:
        (folder / _HEADER).write_text("".join(f'#include "{name}"\n' for name in _INCLUDED))
        subprocess.run(command, cwd=folder, env=simulator.environment(), capture_output=True, check=False)

    with contextlib.suppress(OSError):
        folder = shared("verilator-runtime", [simulator.version, *command], compiled)
        for header in folder.iterdir():
            (working / header.name).symlink_to(header.absolute())
        return {"CPPFLAGS": f"-include {_HEADER}"}
    return {}


def _public_ports(name: str, ports: Sequence[str]) -> str:
    lines = [f'public_flat_rw -module "{name}" -var "{port}"' for port in ports]
    return "\n".join(["`verilator_config", *lines, ""])


def first_error(said: str) -> str:
    """Return the line of a simulator's log that best explains why the simulator rejected the design."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marks = (ICARUS_FATAL, "%Error", "%Warning", "error")
    telling = [line for line in lines if any(mark in line for mark in marks)]
    return (telling or lines[-1:] or ["no message"])[0].rstrip(".")
