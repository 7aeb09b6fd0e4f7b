"""Generator of programs that compute probe sums on a user's GPU and print the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import NamedTuple

import numpy as np

from fp9_compare.identify.interface import Interface
from fp9_compare.identify.probes.structured import drawn, structured
from fp9_compare.identify.rows import header, inputs
from fp9_compare.identify.vectors import Vectors

MOST = 1000
"""Maximum number of sums in a program."""


class _Operand(NamedTuple):
    """Operand format of a GPU instruction: names of the format, and number of bytes and C type of a code."""

    bytes: int
    code: str
    name: str
    results: tuple[str, ...]
    torch: str
    # Number of unused low bits in a code.
    shift: int = 0

    @property
    def step(self) -> int:
        # The number of products that one GPU instruction adds to each element of the result.
        return 32 // self.bytes


_BYTE, _HALF = (1, "uint8_t"), (2, "uint16_t")
_OPERANDS = {
    "e4m3": _Operand(*_BYTE, "e4m3", ("fp32", "fp16"), "float8_e4m3fn"),
    "e5m2": _Operand(*_BYTE, "e5m2", ("fp32", "fp16"), "float8_e5m2"),
    "fp16": _Operand(*_HALF, "f16", ("fp32", "fp16"), "float16"),
    "bf16": _Operand(*_HALF, "bf16", ("fp32",), "bfloat16"),
    "tf32": _Operand(4, "uint32_t", "tf32", ("fp32",), "float32", 13),
}

# Register layout of the accumulator of 16 x 8 sums in a warp, for each result format. Source: PTX ISA.
_RESULTS: dict[str, Mapping[str, str]] = {
    "fp32": {
        "word": "uint32_t",
        "registers": "float d0 = thread == 0 ? __uint_as_float(c[row]) : 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;",
        "result": "__float_as_uint(d0)",
        "type": "f32",
        "constraint": "f",
        "count": "4",
    },
    "fp16": {
        "word": "uint16_t",
        "registers": "uint32_t d0 = thread == 0 ? c[row] : 0, d1 = 0;",
        "result": "(Word)d0",
        "type": "f16",
        "constraint": "r",
        "count": "2",
    },
}

# Name of each format in MFMA instructions, and the AMD architecture that uses the format's codes.
_MATRIX_CORES = {
    "e4m3fnuz": ("fp8", "gfx942"),
    "e5m2fnuz": ("bf8", "gfx942"),
    "e4m3": ("fp8", "gfx950"),
    "e5m2": ("bf8", "gfx950"),
}


def cuda(interface: Interface, seed: int = 0) -> str:
    """Return a CUDA program that computes sums by `mma.sync`.

    FP8 operands need a GPU of compute capability 8.9 or more, and CUDA 12.4 (12.8 for FP16 results).
    """
    return _nvidia(interface, seed, "mma.sync", "-arch=native", 32, _mma)


def wgmma(interface: Interface, seed: int = 0) -> str:
    """Return a CUDA program for Hopper GPUs that computes sums by `wgmma`."""
    return _nvidia(interface, seed, "wgmma", "-gencode=arch=compute_90a,code=sm_90a", 128, _wgmma)


def _nvidia(
    interface: Interface,
    seed: int,
    name: str,
    architecture: str,
    threads: int,
    instruction: Callable[[_Operand, _Operand, Mapping[str, str]], str],
) -> str:
    a, b = _operands(interface)
    if interface.output.name not in a.results:
        raise ValueError(
            f"{interface.output.name} given as result of {interface.a.name}; the instruction gives "
            f"{', '.join(a.results)}"
        )
    said = _RESULTS[interface.output.name]
    fields = {**_common(interface, seed, a.step), **{key: said[key] for key in ("word", "registers", "result")}}
    fields |= {"name": name, "architecture": architecture, "threads": threads, "step": a.step, "code": a.code}
    fields |= {"digits": -(-interface.a.bits // 4), "shift": a.shift, "instruction": instruction(a, b, said)}
    return _filled("unit.cu", fields)


def _operands(interface: Interface) -> tuple[_Operand, _Operand]:
    _check(interface, _OPERANDS, _RESULTS)
    a, b = (_OPERANDS[fmt.name] for fmt in (interface.a, interface.b))
    if a != b and (a.bytes, b.bytes) != (1, 1):
        raise ValueError(f"{interface.a.name} and {interface.b.name} given; no instruction takes both")
    return a, b


def _mma(a: _Operand, b: _Operand, said: Mapping[str, str]) -> str:
    sums, kind, given = _sums(said), said["type"], int(said["count"])
    a0, a2, b0, b1, zero = (f"%{given + i}" for i in range(5))
    operands = f"{{{sums}}}, {{{a0}, {zero}, {a2}, {zero}}}, {{{b0}, {b1}}}, {{{sums}}}"
    name = f"mma.sync.aligned.m16n8k{a.step}.row.col.{kind}.{a.name}.{b.name}.{kind}"
    return f'asm volatile("{name} {operands};" : {_outputs(said)} : "r"(a0), "r"(a2), "r"(b0), "r"(b1), "r"(0));'


def _sums(said: Mapping[str, str]) -> str:
    return ", ".join(f"%{i}" for i in range(int(said["count"])))


def _outputs(said: Mapping[str, str]) -> str:
    return ", ".join(f'"+{said["constraint"]}"(d{i})' for i in range(int(said["count"])))


def _wgmma(a: _Operand, b: _Operand, said: Mapping[str, str]) -> str:
    given = int(said["count"])
    a0, a2, zero, column = (f"%{given + i}" for i in range(4))
    transposed = ", 0" if a.bytes == 2 else ""
    operands = f"{{{_sums(said)}}}, {{{a0}, {zero}, {a2}, {zero}}}, {column}, 1, 1, 1{transposed}"
    name = f"wgmma.mma_async.sync.aligned.m64n8k{a.step}.{said['type']}.{a.name}.{b.name}"
    return _WGMMA.format(operation=f"{name} {operands};", outputs=_outputs(said))


_WGMMA = """\
// B lies in shared memory: 8 columns of 16 bytes, then 8 columns of the next 16 bytes.
        __shared__ alignas(128) uint32_t columns[64];
        if (thread < 64) columns[thread] = 0;
        __syncthreads();
        if (thread < 4) columns[thread] = b0, columns[32 + thread] = b1;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        const uint64_t address = (uint64_t)__cvta_generic_to_shared(columns) >> 4 & 0x3FFF;
        const uint64_t column = address | (uint64_t)(128 >> 4) << 16 | (uint64_t)(128 >> 4) << 32;
        asm volatile(
            "wgmma.fence.sync.aligned; {operation} "
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            : {outputs} : "r"(a0), "r"(a2), "r"(0), "l"(column) : "memory");
        __syncthreads();"""


def pytorch(interface: Interface, seed: int = 0) -> str:
    """Return a Python program that computes sums with PyTorch's matrix product. Every sum starts from +0."""
    a, b = _operands(interface)
    if interface.output.name != "fp32":
        raise ValueError(f"{interface.output.name} given as result; the program prints fp32")
    # FP8 operands are multiplied by `torch._scaled_mm` with fast accumulation, and other operands by `torch.mm`.
    product = {1: _SCALED, 2: _HALVES, 4: _TF32}[a.bytes]
    fields = {**_common(interface, seed, 16, addends=False), "product": product, "shift": a.shift}
    fields |= {"rows": str(fields["rows"]).replace('    "', "").replace('",', "").replace('"', "")}
    fields |= {"digits": -(-interface.a.bits // 4), "integer": f"int{8 * a.bytes}".replace("int8", "uint8")}
    return _filled("unit.py.txt", fields | {"type_a": a.torch, "type_b": b.torch})


_SCALED = """\
    one = torch.ones((), device=a.device)
    return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=True)"""
_HALVES = "    return torch.mm(a, b.t(), out_dtype=torch.float32)"
_TF32 = """\
    torch.backends.cuda.matmul.allow_tf32 = True
    return torch.mm(a, b.t())"""


def hip(interface: Interface, seed: int = 0) -> str:
    """Return a HIP program for the matrix cores of CDNA3 (FNUZ formats) and CDNA4 (OCP formats)."""
    _check(interface, _MATRIX_CORES, {"fp32": {}})
    (a, architecture), (b, other) = (_MATRIX_CORES[fmt.name] for fmt in (interface.a, interface.b))
    if architecture != other:
        raise ValueError(f"{interface.a.name} and {interface.b.name} given; no matrix core takes both")
    instruction = f"__builtin_amdgcn_mfma_f32_16x16x32_{a}_{b}"
    fields = {**_common(interface, seed, 32), "architecture": architecture, "instruction": instruction}
    return _filled("unit.hip", fields)


PROGRAMS = {"cuda": cuda, "wgmma": wgmma, "torch": pytorch, "hip": hip}


def _check(interface: Interface, operands: Mapping[str, object], results: Mapping[str, object]) -> None:
    for fmt, known, what in (
        (interface.a, operands, "operand"),
        (interface.b, operands, "operand"),
        (interface.output, results, "result"),
    ):
        if fmt.name not in known:
            raise ValueError(f"{fmt.name} given as {what}; the instruction takes {', '.join(known)}")


def _common(interface: Interface, seed: int, step: int, addends: bool = True) -> dict[str, object]:
    if interface.depth % step:
        raise ValueError(f"{interface.depth} products given; the instruction sums {step}: give a multiple")
    probes = _without_addends(structured(interface)) if not addends else structured(interface)
    if len(probes) > MOST - MOST // 10:
        probes = probes.take(np.linspace(0, len(probes) - 1, MOST - MOST // 10).astype(np.intp))
    more = drawn(interface, MOST - len(probes), np.random.default_rng(seed))
    vectors = probes + (more if addends else replace(more, c=np.zeros(len(more))))
    rows = ",\n".join(f'    "{line}"' for line in inputs(interface, vectors))
    return {"depth": interface.depth, "count": len(vectors), "rows": rows, "header": header(interface)}


def _without_addends(vectors: Vectors) -> Vectors:
    keys = [(a.tobytes(), b.tobytes()) for a, b in zip(vectors.a, vectors.b, strict=True)]
    kept = vectors.take(sorted({key: i for i, key in reversed(list(enumerate(keys)))}.values()))
    return replace(kept, c=np.zeros(len(kept)))


def _filled(template: str, fields: Mapping[str, object]) -> str:
    return Template(files("fp9_compare.identify.probes").joinpath(template).read_text()).substitute(fields)
