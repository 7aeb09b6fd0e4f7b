"""Compile a unit's Verilog to a shared library with Verilator and g++, and cache the library."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from fp9.system.cache import folder, keep_within_bound, touch
from fp9.units import Unit
from fp9_sim.batch.exposed import NO_REGISTERS, exposed, recipe
from fp9_sim.batch.shim import LANES, PREFIX, lanes, shim
from fp9_sim.simulators.build import first_error
from fp9_sim.simulators.find import VERILATOR_ARGUMENTS, Simulator, SimulatorError, verilator
from fp9_sim.simulators.objects import publish, shared

LIBRARY, _SHIM = "unit.so", "shim.cpp"
_DIGEST = "unit.so.sha256"
SAID = "compiler.log"

# Options with which g++ vectorises the loop over operations.
_VECTOR_CODE = "--param max-tree-if-conversion-phi-args=1000 -fno-tree-vrp -fno-thread-jumps"

_FEATURES = "-DVM_COVERAGE=0 -DVM_SC=0 -DVM_TIMING=0 -DVM_TRACE=0 -DVM_TRACE_FST=0 -DVM_TRACE_VCD=0 -DVM_TRACE_SAIF=0"

_DEFINED = f"-DVERILATOR=1 -DVL_USER_FATAL {_FEATURES}"

# Report vectorised loops; the second name is the prefix of reports about the shim's loop.
_TELL_VECTORS, _LOOP = "-fopt-info-vec-optimized", f"{_SHIM}:"

# For a second compilation, if the loop was not vectorised: partial redundancy elimination can prevent vector code, but
# some units need it.
_FOR_VECTORS = "-fno-tree-pre"

# Largest size in bytes of the evaluation code for which a second compilation is tried. Larger units gain nothing.
_WORTH_AGAIN = 200_000

# Each library has its own copy of Verilator's runtime, because one process loads several units.
_COMPILER = f"c++ -march=native {_VECTOR_CODE} -fPIC -fvisibility=hidden -fno-gnu-unique {_DEFINED}"

# `-O3` compiles vector code in 1 to 60 seconds, and `-O1` compiles scalar code in half a second. By default, g++ tries
# to combine up to four instructions, which takes most of the time of large functions.
_THOROUGHLY, _QUICKLY = "-O3", "-O1 --param max-combine-insns=2"

# Largest number of operations for which compiling and running takes less time with `-O1` than with `-O3`.
FEW = 1 << 24

_SHARED = "-shared -Wl,-Bsymbolic -Wl,-z,defs"

_ARGUMENTS = (
    *VERILATOR_ARGUMENTS,
    *("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "--no-timing", "--prefix", PREFIX),
    "-fno-table",  # a lookup in a table of bytes cannot be vectorised
)

# For Verilog that Yosys wrote.
_UNCHECKED = ("-Wno-lint", "-Wno-style")

# Without precompilation, reading the header of Verilator's runtime takes longer than most units.
_HEADER = "runtime.h"

_CLASS = "class.cpp"

_SOURCES = ("verilated.cpp", "verilated_threads.cpp")


def compiled(unit: Unit, verilog: str, opens: bool, operations: int | None) -> Path:
    """Return the path of a unit's shared library, which is newly compiled or found in the cache.

    If `opens` is true, ports replace the unit's registers (see the module `exposed`).
    """
    simulator, cache = verilator(), folder("verilated")
    options = [simulator.version, _processor(), _COMPILER, _FOR_VECTORS, str(_WORTH_AGAIN)]
    loop = [*recipe(), shim(unit, NO_REGISTERS)] if opens else [shim(unit)]
    # For few operations, less optimisation saves compilation time.
    levels = (_THOROUGHLY,) if operations is None or operations > FEW else (_THOROUGHLY, _QUICKLY)
    for level in levels:
        key = hashlib.sha256(json.dumps([unit.name, verilog, *loop, *options, level, *_ARGUMENTS]).encode()).hexdigest()
        final = cache / f"{unit.name}-{key[:24]}"
        if _is_kept(final):
            return final / LIBRARY
    cache.mkdir(parents=True, exist_ok=True)
    working = Path(tempfile.mkdtemp(dir=cache, prefix=f".{final.name}."))
    try:
        design = exposed(unit, verilog) if opens else None
        (working / f"{unit.name}.v").write_text(design.verilog if design else verilog)
        (working / _SHIM).write_text(shim(unit, design))
        names = [f"{unit.name}.v", "--top-module", unit.name, "--Mdir", "."]
        arguments = [*_ARGUMENTS, *(_UNCHECKED if opens else ()), *names]
        _call(unit, simulator, working, [str(simulator.folder / "verilator"), *arguments])
        evaluation = _lanes(working)
        (working / LANES).write_text(evaluation)
        _compile(unit, simulator, options, level, working, is_class=not evaluation)
        (working / _DIGEST).write_text(_digest(working / LIBRARY))
        publish(working, final)
        keep_within_bound()
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return final / LIBRARY


def _is_kept(final: Path) -> bool:
    if not final.is_dir():
        return False
    if _is_whole(final):
        touch(final)
        return True
    shutil.rmtree(final)
    return False


def _is_whole(folder: Path) -> bool:
    try:
        return (folder / _DIGEST).read_text() == _digest(folder / LIBRARY)
    except (OSError, UnicodeDecodeError):
        return False


def _digest(library: Path) -> str:
    return hashlib.sha256(library.read_bytes()).hexdigest()


def _compile(unit: Unit, simulator: Simulator, options: list[str], level: str, working: Path, is_class: bool) -> None:
    include = simulator.folder.parent / "include"
    compiler = [*_COMPILER.split(), "-I.", f"-I{include}", f"-I{include}/vltstd"]

    def header(folder: Path) -> None:
        (folder / _HEADER).write_text('#include "verilated.h"\n')
        _call(unit, simulator, folder, [*compiler, *level.split(), "-x", "c++-header", _HEADER])

    def objects(folder: Path) -> None:
        for source in _SOURCES:
            _call(unit, simulator, folder, [*compiler, "-O1", "-c", str(include / source)])

    read = ["-include", str(shared("verilator-header", [*options, level], header) / _HEADER)]
    parts = [_SHIM]
    if is_class:
        (working / _CLASS).write_text("".join(f'#include "{path.name}"\n' for path in working.glob(f"{PREFIX}*.cpp")))
        parts += [_CLASS, *(str(path) for path in shared("verilator-objects", options, objects).glob("*.o"))]
    command = [*compiler, *level.split(), *read, *_SHARED.split(), "-o", LIBRARY, _TELL_VECTORS, *parts]
    said = _call(unit, simulator, working, command)
    if level == _THOROUGHLY and not is_class and _LOOP not in said and _evaluated(working) <= _WORTH_AGAIN:
        said = _call(unit, simulator, working, [*command, _FOR_VECTORS])
    (working / SAID).write_text(said)


def _evaluated(working: Path) -> int:
    return sum((working / name).stat().st_size for name in _evaluation(working))


def _call(unit: Unit, simulator: Simulator, working: Path, command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=working, env=simulator.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SimulatorError(f"verilator refuses {unit.name}: {first_error(done.stderr + done.stdout)}")
    return done.stderr


def _lanes(working: Path) -> str:
    constants = sorted(path.name for path in working.glob(f"{PREFIX}__ConstPool*.cpp"))
    sources = {name: (working / name).read_text() for name in constants + _evaluation(working)}
    initial = "".join(path.read_text() for path in sorted(working.glob(f"{PREFIX}___024root*Slow.cpp")))
    return lanes((working / f"{PREFIX}___024root.h").read_text(), sources, initial)


def _evaluation(working: Path) -> list[str]:
    return sorted(path.name for path in working.glob(f"{PREFIX}___024root*.cpp") if "Slow" not in path.name)


def _processor() -> str:
    # Part of the cache key, because different machines may share a cache.
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith("flags")), "")
