"""Call a unit's Verilog as a function of NumPy arrays, compiled by Verilator."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import fp9_rtl
from fp9.units import Unit
from fp9.vectors.sets import from_inputs, port_dtype
from fp9_sim.batch.compiled import compiled
from fp9_sim.bench.scoreboard import Answers, Mismatch, mismatches
from fp9_sim.simulators.find import SimulatorError, TooFewResults
from fp9_sim.simulators.style import any_style

# Smallest number of operations for which a thread is started.
SHARE = 1 << 16


class Verilated:
    """Compiled unit, called as a function with one array (n,) for each input port.

    Input arrays are not copied if their dtype is the smallest unsigned integer type that holds every value of the port.
    The GIL is released while the unit runs. A unit with state, such as `mac`, starts from reset at every call and
    executes the operations in order.

    With `streams`, the operations are divided into sequences, which all start from reset and run in parallel. Each
    sequence starts with an operation that does not depend on earlier operations.
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
        """Return an array (n,) of results for each output port.

        Raises ValueError for missing or unknown ports, for arrays of unequal length, and for values that do not fit a
        port's dtype. Raises SimulatorError if the unit gives fewer results than operations, or if the unit ends the
        simulation.
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
        # For each thread: the start index of each stream, and the end index of the last stream.
        shares = max(1, min(self.threads, count // SHARE))
        edges = self._edges(inputs, count) if self.unit.stages else _even(count, shares)
        chosen = _even(len(edges) - 1, min(shares, len(edges) - 1))
        return [edges[first : last + 1] for first, last in itertools.pairwise(chosen)]

    def _edges(self, inputs: Mapping[str, NDArray[Any]], count: int) -> NDArray[np.uintp]:
        if self.streams == 1 or not count:
            return _even(count, 1)
        begins = np.append(np.flatnonzero(self.unit.restarts(inputs)), count)
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
            raise TooFewResults(f"{self.unit.name} gave {done} results for {count} operations and then no more")

    @contextlib.contextmanager
    def _model(self) -> Iterator[int]:
        model = self._library.fp9_open()
        try:
            yield model
        finally:
            self._library.fp9_close(model)


def _even(count: int, parts: int) -> NDArray[np.uintp]:
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
    """Compile a unit's Verilog, or find the compiled unit in the cache. Return the loaded unit.

    `threads` is the number of threads, by default the number of cores of the process. The compiled model of a pipelined
    unit uses several threads only if `streams` is given. `streams` is the number of operation sequences that run in
    parallel. `verilog` replaces the generated Verilog. `operations` is the expected number of operations; if the number
    is small, the C++ compiler optimises less. Compiled units are cached in `$FP9_CACHE`/verilated or
    ~/.cache/fp9/verilated.

    Raises MissingTool if a tool is missing, and SimulatorError if Verilator rejects the design. Raises ValueError if
    `streams` is less than 2. Also raises ValueError if `streams` is given and the unit has latches, memories, or
    registers that depend on more than the rising edge of `clk`. Raises OSError if the cache cannot be written.
    """
    if streams is not None and streams < 2:
        raise ValueError(f"{unit.name}: {streams} streams given; give 2 or more, or none")
    text = fp9_rtl.verilog(unit) if verilog is None else any_style(verilog, unit.name)
    opens = bool(unit.stages) and streams is not None
    library = compiled(unit, text, opens, operations)
    return Verilated(unit, library, threads or len(os.sched_getaffinity(0)), streams or 1)


def check(
    unit: Unit, inputs: Mapping[str, ArrayLike], *, dut: Verilated | None = None, limit: int = 100
) -> tuple[list[Mismatch], int]:
    """Compare a unit's Verilog with the golden model.

    Return the first `limit` mismatches and the total number of mismatches. Raises the same errors as `verilated` and as
    a call of the compiled unit.
    """
    vectors = from_inputs(unit, {name: np.asarray(column) for name, column in inputs.items()})
    answers = (dut or verilated(unit, operations=len(vectors)))(**vectors.inputs)
    return mismatches(vectors, Answers(answers, {}), limit)
