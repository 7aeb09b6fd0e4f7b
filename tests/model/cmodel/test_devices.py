"""The headers as OpenCL C, which runs where a platform is installed, and as CUDA and WebAssembly: compiled."""

from __future__ import annotations

import shutil
import site
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.support.compilers import WARNINGS, write
from tests.support.opencl import Device

import fp9
from fp9.cmodel import files, library_header
from fp9.engines import ENGINES, engine
from fp9.formats import format
from fp9.units import unit
from fp9.vectors import generate

ENGINE = engine("blackwell(G=8)")
HEADER = library_header([format("e4m3"), format("hif8")], [ENGINE])

_KERNELS = """
__kernel void encode(__global const uint *x, __global uint *codes, __global uint *flags)
{
    size_t i = get_global_id(0);
    uint raised;
    codes[i] = fp9_hif8_from_f32(x[i], fp9_policy_of(FP9_HYBRID, FP9_TO_INF), &raised);
    flags[i] = raised;
}

__kernel void dots(__global const uint *a, __global const uint *b, __global uint *codes, __global uint *flags)
{
    fp9_number x[8], y[8];
    size_t i = get_global_id(0);
    uint raised;
    int k;
    for (k = 0; k < 8; ++k) {
        x[k] = fp9_e4m3_decode(a[8 * i + k]);
        y[k] = fp9_hif8_decode(b[8 * i + k]);
    }
    codes[i] = fp9_blackwell_products_8_dot(x, y, 0, 0, 8, 0, &raised);
    flags[i] = raised;
}
"""


@pytest.mark.slow
def test_opencl_encodes_as_the_model() -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    codes, flags = np.zeros_like(bits), np.zeros_like(bits)
    Device().run(HEADER + _KERNELS, "encode", [bits, codes, flags], bits.size)
    expected, raised = fp9.encode(bits.view(np.float32), "hif8", "hybrid", "inf", flags=True)
    assert np.array_equal(codes, expected)
    assert np.array_equal(flags, raised)


@pytest.mark.slow
def test_opencl_adds_as_the_model() -> None:
    a, b = np.random.default_rng(2).integers(0, 256, (2, 20_000, 8), dtype=np.uint32)
    codes, flags = (np.zeros(len(a), dtype=np.uint32) for _ in range(2))
    Device().run(HEADER + _KERNELS, "dots", [a, b, codes, flags], len(a))
    columns = (x.astype(np.uint8) for x in (a, b))
    expected, raised = fp9.dot(*columns, "e4m3", "hif8", engine=ENGINE, c=np.zeros(len(a), np.uint32), flags=True)
    assert np.array_equal(codes, expected)
    assert np.array_equal(flags, raised)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fma_fp32", "cast_fp32_riscv", "dot16_fp32_fnuz", "dot4_fp32_mxfp8", "mul_fp16_ocp"])
def test_opencl_computes_units(name: str) -> None:
    """The corner suite of a unit, through structs of inputs and outputs."""
    found = unit(name)
    vectors = generate(found, "corner")
    columns = [np.ascontiguousarray(vectors.inputs[port.name], dtype=np.uint32) for port in found.inputs]
    results = [np.zeros(len(vectors), dtype=np.uint32) for _ in found.outputs]
    arguments = [f"__global const uint *{port.name}_" for port in found.inputs]
    arguments += [f"__global uint *{port.name}_" for port in found.outputs]
    loads = " ".join(f"in.{port.name} = {port.name}_[i];" for port in found.inputs)
    stores = " ".join(f"{port.name}_[i] = out.{port.name};" for port in found.outputs)
    kernel = (
        f"__kernel void run({', '.join(arguments)}) {{ size_t i = get_global_id(0); {name}_in in; {name}_out out; "
        f"{loads} {name}_model(&in, &out); {stores} }}\n"
    )
    Device().run(files(found)[f"fp9_{name}.h"] + kernel, "run", [*columns, *results], len(vectors))
    for port, result in zip(found.outputs, results, strict=True):
        assert np.array_equal(result, vectors.expected[port.name]), port.name


def _nvcc() -> str:
    """The CUDA compiler on the path, or that of NVIDIA's packages for Python."""
    packaged = [path for folder in site.getsitepackages() for path in Path(folder).glob("nvidia/*/bin/nvcc")]
    found = shutil.which("nvcc") or next(map(str, packaged), None)
    if found is None:
        pytest.skip("nvcc is not installed")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_cuda_compiles(architecture: str, tmp_path: Path) -> None:
    """Compiled, not run."""
    nvcc = _nvcc()
    units = [unit(name) for name in ("fma_fp32", "mac4_kulisch_ocp", "quantiser_nvfp4", "cast_fp32_x4")]
    every = [entry for entry in ENGINES.values() if entry.step.group is None]
    header = library_header([format("e4m3"), format("hif8"), format("e8m0")], every)
    write(tmp_path, {"fp9_formats.h": header} | {name: text for u in units for name, text in files(u).items()})
    lines = ['#include "fp9_formats.h"', *(f'#include "fp9_{u.name}.h"' for u in units)]
    for u in units:
        state = f"{u.name}_state *state, " if u.has_state else ""
        given = "state, " if u.has_state else ""
        lines.append(f"__global__ void run_{u.name}({state}const {u.name}_in *in, {u.name}_out *out)")
        lines.append(f"{{ {u.name}_model({given}in, out); }}")
    (tmp_path / "kernels.cu").write_text("\n".join([*lines, ""]))
    include = Path(nvcc).parents[1] / "include"
    words = [nvcc, f"-arch={architecture}", "-Werror=all-warnings", "-cubin", f"-I{tmp_path}", f"-I{include}"]
    done = subprocess.run([*words, "kernels.cu"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_webassembly_compiles_without_a_library(tmp_path: Path) -> None:
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    write(tmp_path, {"fp9_formats.h": HEADER} | files(unit("fma_fp32")))
    (tmp_path / "page.c").write_text('#define FP9_NO_FLOAT\n#include "fp9_formats.h"\n#include "fp9_fma_fp32.h"\n')
    words = ["clang", "--target=wasm32", "-std=c99", "-ffreestanding", "-nostdlib", *WARNINGS, "-c", "page.c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
