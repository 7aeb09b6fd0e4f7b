"""A unit's Verilog as a function of NumPy arrays: compiled once by Verilator, loaded in-process, run on all cores."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import fp9_rtl
from fp9.system.cache import folder as cache_folder
from fp9.system.cache import keep_within_bound, touch
from fp9.units import Unit
from fp9.vectors.sets import from_inputs, port_dtype
from fp9_sim.batch.opened import NO_REGISTERS, opened, recipe
from fp9_sim.batch.shim import LANES, PREFIX, lanes, shim
from fp9_sim.benches.scoreboard import Answers, Mismatch, mismatches
from fp9_sim.simulators.build import first_error
from fp9_sim.simulators.find import VERILATOR_ARGUMENTS, Simulator, SimulatorError, verilator
from fp9_sim.simulators.objects import publish, shared

LIBRARY = "unit.so"
_DIGEST = "unit.so.sha256"

_VECTOR_CODE = "--param max-tree-if-conversion-phi-args=1000 -fno-tree-vrp -fno-thread-jumps"
"""What keeps g++ from making vector code of a loop over operations: choices between more than 4 values, and comparisons
that its range analysis takes apart."""

_FEATURES = "-DVM_COVERAGE=0 -DVM_SC=0 -DVM_TIMING=0 -DVM_TRACE=0 -DVM_TRACE_FST=0 -DVM_TRACE_VCD=0 -DVM_TRACE_SAIF=0"

_DEFINED = f"-DVERILATOR=1 -DVL_USER_FATAL {_FEATURES}"

_FULL, _HURRIED = "-O3", "-Og"
"""What g++ does to the evaluation: vector code for many operations, or half the time of compiling for few."""

WORTH_OPTIMISING = 1 << 22
"""Operations that take as long, of a unit that is compiled in a hurry, as compiling it well."""

_COMPILER = f"c++ {_FULL} -march=native {_VECTOR_CODE} -fPIC -fvisibility=hidden -fno-gnu-unique {_DEFINED}"
"""Several units are loaded into one process: each keeps Verilator's library to itself."""

_SHARED = "-shared -Wl,-Bsymbolic -Wl,-z,defs"

_ARGUMENTS = (
    *VERILATOR_ARGUMENTS,
    *("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "--no-timing", "--prefix", PREFIX),
    "-fno-table",  # a choice read from a table of bytes is one that no vector of operations can make
)

_UNCHECKED = ("-Wno-lint", "-Wno-style")
"""For the text that Yosys writes: the unit's own is checked where it is run as it stands."""

_HEADER = "runtime.h"
"""Verilator's header, compiled once: to read it takes longer than to compile most units."""

_CLASS = "class.cpp"
"""Includes everything that Verilator generated of a design."""

_SOURCES = ("verilated.cpp", "verilated_threads.cpp")
"""What a model with state needs of Verilator's library."""

SHARE = 1 << 16
"""Operations at least that a thread gets."""


class Verilated:
    """A compiled unit: call it with one array of shape (n,) for each input, get one for each output.

    Arrays of the ports' own types (the smallest unsigned type that holds them) are read where they are; others are
    converted. The interpreter is free while the unit runs. A unit with stages gets one operation a clock; one with
    state (`mac`) sees the operations in order, from reset, at every call.

    With `streams` the operations are cut into so many sequences of about one length, or as many as can be cut, where an
    operation does not depend on those before it; all run at once, each clock by clock from reset.
    """

    def __init__(self, unit: Unit, library: Path, threads: int, streams: int = 1) -> None:
        self.unit = unit
        self.threads = threads
        self.streams = streams
        self._library = ctypes.CDLL(str(library))
        self._library.fp9_open.restype = ctypes.c_void_p
        self._library.fp9_close.argtypes = [ctypes.c_void_p]
        self._library.fp9_close.restype = None
        arrays = [ctypes.c_void_p, ctypes.c_void_p]
        sequences = (ctypes.c_void_p, ctypes.c_size_t)
        self._library.fp9_run.argtypes = [ctypes.c_void_p, *sequences, *arrays, ctypes.POINTER(ctypes.c_char_p)]
        self._library.fp9_run.restype = ctypes.c_size_t

    def __call__(self, **inputs: ArrayLike) -> dict[str, NDArray[Any]]:
        """Outputs of the operations; element i belongs to operation i.

        Raises ValueError for ports that are missing or unknown, columns of unequal length and values that a port's
        type does not hold, SimulatorError when the unit stops giving results or ends the simulation.
        """
        columns = self._columns(inputs)
        count = len(columns[0])
        results = {port.name: np.empty(count, port_dtype(port)) for port in self.unit.outputs}
        parts = self._parts(dict(zip((port.name for port in self.unit.inputs), columns, strict=True)), count)

        def run(edges: NDArray[np.uintp]) -> None:
            self._run(columns, [*results.values()], edges)

        if len(parts) == 1:
            run(parts[0])
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(run, parts))
        return results

    def _parts(self, inputs: Mapping[str, NDArray[Any]], count: int) -> list[NDArray[np.uintp]]:
        """What each thread gets: the edges of its sequences of operations."""
        shares = max(1, min(self.threads, count // SHARE))
        edges = self._edges(inputs, count) if self.unit.stages else _even(count, shares)
        chosen = _even(len(edges) - 1, min(shares, len(edges) - 1))
        return [edges[first : last + 1] for first, last in itertools.pairwise(chosen)]

    def _edges(self, inputs: Mapping[str, NDArray[Any]], count: int) -> NDArray[np.uintp]:
        """Where the streams of a unit with stages begin and end."""
        if self.streams == 1 or not count:
            return _even(count, 1)
        begins = np.append(np.flatnonzero(self.unit.starts_anew(inputs)), count)
        wanted = _even(count, min(self.streams, count))
        cut = begins[np.searchsorted(begins, wanted[1:-1])]
        return np.unique([0, *cut, count]).astype(np.uintp)

    def _columns(self, inputs: Mapping[str, ArrayLike]) -> list[NDArray[Any]]:
        names = [port.name for port in self.unit.inputs]
        if set(inputs) != set(names):
            raise ValueError(
                f"{self.unit.name}: {', '.join(sorted(inputs)) or 'nothing'} given; give {', '.join(names)}"
            )
        columns = [_fitting(self.unit, port.name, inputs[port.name], port_dtype(port)) for port in self.unit.inputs]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
            raise ValueError(
                f"{self.unit.name}: columns of different shapes given; give one-dimensional ones of one length"
            )
        return columns

    def _run(self, inputs: list[NDArray[Any]], outputs: list[NDArray[Any]], edges: NDArray[np.uintp]) -> None:
        said, count = ctypes.c_char_p(), int(edges[-1] - edges[0])
        arrays = (edges.ctypes.data, len(edges) - 1, _addresses(inputs), _addresses(outputs))
        with self._model() as model:
            done = self._library.fp9_run(model, *arrays, ctypes.byref(said))
        if said.value is not None:
            raise SimulatorError(f"{self.unit.name} ends the simulation: {said.value.decode(errors='replace')}")
        if done < count:
            raise SimulatorError(f"{self.unit.name} gave {done} results for {count} operations and then no more")

    @contextlib.contextmanager
    def _model(self) -> Iterator[int]:
        model = self._library.fp9_open()
        try:
            yield model
        finally:
            self._library.fp9_close(model)


def _even(count: int, parts: int) -> NDArray[np.uintp]:
    """The edges of so many parts of a count, as even as they can be."""
    return np.array([count * i // parts for i in range(parts + 1)], dtype=np.uintp)


def _fitting(unit: Unit, name: str, column: ArrayLike, dtype: np.dtype[Any]) -> NDArray[Any]:
    given = np.asarray(column)
    if given.dtype.kind not in "iu":
        raise ValueError(f"{unit.name}: column {name} holds {given.dtype.name}; give unsigned integers")
    if given.dtype != dtype and given.size and not 0 <= int(given.min()) <= int(given.max()) <= np.iinfo(dtype).max:
        raise ValueError(f"{unit.name}: column {name} holds a value that does not fit {dtype.name}")
    return np.ascontiguousarray(given, dtype)


def _addresses(arrays: list[NDArray[Any]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def verilated(
    unit: Unit,
    *,
    threads: int | None = None,
    verilog: str | None = None,
    streams: int | None = None,
    operations: int | None = None,
) -> Verilated:
    """Compile a unit's Verilog, or take what was compiled before from the cache, and load it.

    `threads` is how many cores are used by operations that do not depend on each other: those of a combinational unit,
    and of several streams; all that the process may use by default. `verilog` is compiled in place of the generated
    text. `streams` is how many sequences of operations run side by side in a unit with stages, whose registers Yosys
    opens for that; without it the unit is run as it stands, its clock and all. `operations` is about how many are to
    come: for fewer than `WORTH_OPTIMISING` a unit that is not there yet is compiled in half the time, to give the same
    results more slowly. Compiled units are kept in `$FP9_CACHE`/verilated, else in ~/.cache/fp9/verilated. Raises MissingTool, SimulatorError where Verilator refuses
    the design, ValueError for registers that cannot be opened and fewer than 2 streams, OSError where the cache cannot
    be written.
    """
    if streams is not None and streams < 2:
        raise ValueError(f"{unit.name}: {streams} streams given; give 2 or more, or none")
    text = fp9_rtl.verilog(unit) if verilog is None else verilog
    opens = bool(unit.stages) and streams is not None
    few = operations is not None and operations < WORTH_OPTIMISING
    folder = _compiled(unit, text, verilator(), cache_folder("verilated"), opens, few)
    return Verilated(unit, folder / LIBRARY, threads or len(os.sched_getaffinity(0)), streams or 1)


def _compiled(unit: Unit, verilog: str, simulator: Simulator, cache: Path, opens: bool, few: bool) -> Path:
    """Folder with the compiled unit, complete whenever it exists; its registers opened or as they are.

    For `few` operations one that was compiled in a hurry does, too.
    """
    options = [simulator.version, _processor(), _COMPILER]
    loop = [*recipe(), shim(unit, NO_REGISTERS)] if opens else [shim(unit)]
    key = hashlib.sha256(json.dumps([unit.name, verilog, *loop, *options, *_ARGUMENTS]).encode()).hexdigest()[:24]
    full, hurried = cache / f"{unit.name}-{key}", cache / f"{unit.name}-{key}{_HURRIED}"
    for kept in (full, hurried) if few else (full,):
        if kept.is_dir():
            if _is_whole(kept):
                touch(kept)
                return kept
            shutil.rmtree(kept)
    final = hurried if few else full
    cache.mkdir(parents=True, exist_ok=True)
    working = Path(tempfile.mkdtemp(dir=cache, prefix=f".{final.name}."))
    try:
        design = opened(unit, verilog) if opens else None
        (working / f"{unit.name}.v").write_text(design.verilog if design else verilog)
        (working / "shim.cpp").write_text(shim(unit, design))
        names = [f"{unit.name}.v", "--top-module", unit.name, "--Mdir", "."]
        arguments = [*_ARGUMENTS, *(_UNCHECKED if opens else ()), *names]
        _call(unit, simulator, working, [str(simulator.folder / "verilator"), *arguments])
        evaluation = _lanes(working)
        (working / LANES).write_text(evaluation)
        _compile(unit, simulator, options, working, _HURRIED if few else _FULL, is_class=not evaluation)
        (working / _DIGEST).write_text(_digest(working / LIBRARY))
        publish(working, final)
        keep_within_bound()
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return final


def _is_whole(folder: Path) -> bool:
    """Whether a compiled unit is there as it was made; a damaged one could end this process."""
    try:
        return (folder / _DIGEST).read_text() == _digest(folder / LIBRARY)
    except (OSError, UnicodeDecodeError):
        return False


def _digest(library: Path) -> str:
    return hashlib.sha256(library.read_bytes()).hexdigest()


def _compile(
    unit: Unit, simulator: Simulator, options: list[str], working: Path, optimise: str, is_class: bool
) -> None:
    """Compile the shim into `LIBRARY`, and beside it what it does not include: Verilator's class and its library."""
    include = simulator.folder.parent / "include"
    compiler = [*_COMPILER.split(), "-I.", f"-I{include}", f"-I{include}/vltstd"]

    def header(folder: Path) -> None:
        (folder / _HEADER).write_text('#include "verilated.h"\n')
        _call(unit, simulator, folder, [*compiler, "-x", "c++-header", _HEADER])

    def objects(folder: Path) -> None:
        for source in _SOURCES:
            _call(unit, simulator, folder, [*compiler, "-O1", "-c", str(include / source)])

    read = ["-include", str(shared("verilator-header", options, header) / _HEADER)]
    parts = ["shim.cpp"]
    if is_class:
        (working / _CLASS).write_text("".join(f'#include "{path.name}"\n' for path in working.glob(f"{PREFIX}*.cpp")))
        parts += [_CLASS, *(str(path) for path in shared("verilator-objects", options, objects).glob("*.o"))]
    _call(unit, simulator, working, [*compiler, optimise, *read, *_SHARED.split(), "-o", LIBRARY, *parts])


def _call(unit: Unit, simulator: Simulator, working: Path, command: list[str]) -> None:
    """Run a step of the compilation; SimulatorError, with the first error, where it fails."""
    done = subprocess.run(
        command, cwd=working, env=simulator.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SimulatorError(f"verilator refuses {unit.name}: {first_error(done.stderr + done.stdout)}")


def _lanes(working: Path) -> str:
    constants = sorted(path.name for path in working.glob(f"{PREFIX}__ConstPool*.cpp"))
    evaluation = sorted(path.name for path in working.glob(f"{PREFIX}___024root*.cpp") if "Slow" not in path.name)
    return lanes((working / f"{PREFIX}___024root.h").read_text(), constants + evaluation)


def _processor() -> str:
    """What `-march=native` means here: a cache may be shared by machines of different kinds."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith("flags")), "")


def check(
    unit: Unit, inputs: Mapping[str, ArrayLike], *, dut: Verilated | None = None, limit: int = 100
) -> tuple[list[Mismatch], int]:
    """The first `limit` operations on which a unit's Verilog and the golden model differ, and how many there are.

    `dut` is the compiled unit where there is one already. Errors are those of `verilated` and of the unit.
    """
    vectors = from_inputs(unit, {name: np.asarray(column) for name, column in inputs.items()})
    answers = (dut or verilated(unit, operations=len(vectors)))(**vectors.inputs)
    return mismatches(vectors, Answers(answers, {}), limit)
