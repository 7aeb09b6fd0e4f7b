"""Call a unit's C model as a function of NumPy arrays."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.cmodel import unit_header
from fp9.cmodel.headers import model_text
from fp9.cmodel.operands import c_type
from fp9.cmodel.text import filled
from fp9.units import Port, Unit
from fp9.vectors.sets import port_dtype

_COMPILER = ("c++", "-O2", "-shared", "-fPIC")

_LOOP = """\
#include <stddef.h>
#include "model.h"
extern "C" void run(const void *const *inputs, void *const *outputs, size_t count)
{
@{arrays}
@{start}    for (size_t i = 0; i < count; i += @{group}) {
        @{name}_in in[@{group}];
        @{name}_out out[@{group}];
        for (size_t k = 0; k < @{group}; ++k) {
@{loads}
        }
        @{name}_model(@{state}in, out);
        for (size_t k = 0; k < @{group}; ++k) {
@{stores}
        }
    }
}
"""


class CModel:
    """Compiled C model of a unit. A unit with state starts from reset at every call.

    Raises ValueError if the unit has no C model, and subprocess.CalledProcessError if the compiler fails.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._group = model_text(unit).group
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "model.h").write_text(unit_header(unit))
            (folder / "run.cpp").write_text(_source(unit))
            subprocess.run([*_COMPILER, "-o", "model.so", "run.cpp"], cwd=folder, check=True, capture_output=True)
            self._run = ctypes.CDLL(str(folder / "model.so")).run
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self._run.restype = None

    def __call__(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return an array of results (n,) for each output port.

        `inputs` holds an array of operands (n,) for each input port. Raises ValueError if the number of operations n is
        not a multiple of the unit's block size.
        """
        count = len(next(iter(inputs.values())))
        if count % self._group:
            raise ValueError(f"{count} operations given; {self.unit.name} takes blocks of {self._group}")
        given = [np.ascontiguousarray(inputs[port.name], port_dtype(port)) for port in self.unit.inputs]
        results = {port.name: np.empty(count, port_dtype(port)) for port in self.unit.outputs}
        self._run(_pointers(given), _pointers([*results.values()]), count)
        return results


def _pointers(arrays: Sequence[NDArray[Any]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def _source(unit: Unit) -> str:
    text = model_text(unit)
    arrays = [_array(port, n, "const ", "inputs") for n, port in enumerate(unit.inputs)]
    arrays += [_array(port, n, "", "outputs") for n, port in enumerate(unit.outputs)]
    words = {
        "name": unit.name,
        "group": str(text.group),
        "start": f"    {unit.name}_state state;\n    {unit.name}_reset(&state);\n" if text.state else "",
        "state": "&state, " if text.state else "",
        "arrays": "\n".join(arrays),
        "loads": "\n".join(f"            in[k].{port.name} = inputs_{port.name}[i + k];" for port in unit.inputs),
        "stores": "\n".join(f"            outputs_{port.name}[i + k] = out[k].{port.name};" for port in unit.outputs),
    }
    return filled(_LOOP, words)


def _array(port: Port, place: int, const: str, side: str) -> str:
    typed = f"{const}{c_type(port.width)} *"
    return f"    {typed}{side}_{port.name} = ({typed}){side}[{place}];"
