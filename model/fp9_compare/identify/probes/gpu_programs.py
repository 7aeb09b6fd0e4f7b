"""Programs that compute selected sums on a user's GPU and print rows for `fp9 identify`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from string import Template

import numpy as np

from fp9_compare.identify.interface import Interface
from fp9_compare.identify.probes.structured import drawn, structured
from fp9_compare.identify.rows import header, inputs

MOST = 1000
"""Maximum number of sums in a program."""
STEP = 32
"""Number of products that one instruction adds."""

_OPERANDS = {"e4m3": "e4m3", "e5m2": "e5m2"}

_RESULTS: dict[str, Mapping[str, str]] = {
    "fp32": {
        "word": "uint32_t",
        "registers": "float d0 = lane == 0 ? __uint_as_float(c[row]) : 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;",
        "result": "__float_as_uint(d0)",
        "type": "f32",
        "constraint": "f",
        "count": "4",
    },
    "fp16": {
        "word": "uint16_t",
        "registers": "uint32_t d0 = lane == 0 ? c[row] : 0, d1 = 0;",
        "result": "(Word)d0",
        "type": "f16",
        "constraint": "r",
        "count": "2",
    },
}
"""Register layout of the accumulator in mma.m16n8k32, for each result format. Source: PTX ISA."""

_MATRIX_CORES = {
    "e4m3fnuz": ("fp8", "gfx942"),
    "e5m2fnuz": ("bf8", "gfx942"),
    "e4m3": ("fp8", "gfx950"),
    "e5m2": ("bf8", "gfx950"),
}
"""For each format: its name in MFMA instructions, and the architecture that uses its codes."""


def cuda(interface: Interface, seed: int = 0) -> str:
    """Return a CUDA program that uses `mma.sync` with FP8 operands.

    The program needs a GPU of compute capability 8.9 or more, and CUDA 12.4 (12.8 for FP16 results). Raises
    ValueError for formats that `mma.sync` does not support.
    """
    _check(interface, _OPERANDS, _RESULTS)
    said = _RESULTS[interface.output.name]
    fields = {**_common(interface, seed), **{name: said[name] for name in ("word", "registers", "result")}}
    return _filled("unit.cu", fields | {"instruction": _mma(interface, said)})


def _mma(interface: Interface, said: Mapping[str, str]) -> str:
    count, kind = int(said["count"]), said["type"]
    sums = ", ".join(f"%{i}" for i in range(count))
    factors = [f"%{count + i}" for i in range(5)]  # a0, a2, b0, b1 and a zero for the rows that are not asked
    a0, a2, b0, b1, zero = factors
    operands = f"{{{sums}}}, {{{a0}, {zero}, {a2}, {zero}}}, {{{b0}, {b1}}}, {{{sums}}}"
    name = f"mma.sync.aligned.m16n8k32.row.col.{kind}.{interface.a.name}.{interface.b.name}.{kind}"
    outputs = ", ".join(f'"+{said["constraint"]}"(d{i})' for i in range(count))
    return f'asm volatile("{name} {operands};" : {outputs} : "r"(a0), "r"(a2), "r"(b0), "r"(b1), "r"(0));'


def hip(interface: Interface, seed: int = 0) -> str:
    """Return a HIP program for the matrix cores of CDNA3 (FNUZ formats) and CDNA4 (OCP formats), with FP32 results.

    Raises ValueError for other formats.
    """
    _check(interface, _MATRIX_CORES, {"fp32": {}})
    (a, architecture), (b, other) = (_MATRIX_CORES[fmt.name] for fmt in (interface.a, interface.b))
    if architecture != other:
        raise ValueError(f"{interface.a.name} and {interface.b.name} given; no matrix core takes both")
    instruction = f"__builtin_amdgcn_mfma_f32_16x16x32_{a}_{b}"
    return _filled("unit.hip", {**_common(interface, seed), "architecture": architecture, "instruction": instruction})


def _check(interface: Interface, operands: Mapping[str, object], results: Mapping[str, object]) -> None:
    for fmt, known, what in (
        (interface.a, operands, "operand"),
        (interface.b, operands, "operand"),
        (interface.output, results, "result"),
    ):
        if fmt.name not in known:
            raise ValueError(f"{fmt.name} given as {what}; the instruction takes {', '.join(known)}")
    if interface.depth % STEP:
        raise ValueError(f"{interface.depth} products given; the instruction sums {STEP}: give a multiple")


def _common(interface: Interface, seed: int) -> dict[str, object]:
    probes = structured(interface)
    if len(probes) > MOST - MOST // 10:
        probes = probes.take(np.linspace(0, len(probes) - 1, MOST - MOST // 10).astype(np.intp))
    vectors = probes + drawn(interface, MOST - len(probes), np.random.default_rng(seed))
    rows = ",\n".join(f'    "{line}"' for line in inputs(interface, vectors))
    return {"depth": interface.depth, "count": len(vectors), "rows": rows, "header": header(interface)}


def _filled(template: str, fields: Mapping[str, object]) -> str:
    return Template(files("fp9_compare.identify.probes").joinpath(template).read_text()).substitute(fields)
