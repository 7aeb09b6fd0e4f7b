"""The CUDA kernels: compiled by NVRTC for every preset, and held to the kernels of the processor where a GPU is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
pytest.importorskip("fp9_ml.torch.cuda", reason="NVRTC is not installed")

import fp9  # noqa: E402
from fp9.cmodel.matrix_products import kernels  # noqa: E402
from fp9.engines import ENGINES, engine  # noqa: E402
from fp9.engines.devices import operands_of  # noqa: E402
from fp9_ml.torch import cuda, integers  # noqa: E402

PRESETS = [name for name, record in ENGINES.items() if record.step.group is None]
VARIANTS = [
    "hopper(chunk=128,promotion=fp32)",
    "blackwell(zero_exponent=2,products=4)",
    "ada(zero_exponent=-3)",
    "ampere(window=20,rounding=rne)",
    "hopper(result=bf16)",
]
PAIRS = [("e5m2", "e4m3"), ("e5m2", "e5m2"), ("hif8", "hif8"), ("e4m3fnuz", "e5m2fnuz"), ("hfp8_143", "hfp8_152")]
CASES = [
    *((("e4m3", "e4m3"), name) for name in [*PRESETS, *VARIANTS]),
    *(((fmt, fmt), name) for name in PRESETS for fmt in operands_of(name) if fp9.format(fmt).bits > 8),
    *((pair, name) for pair in PAIRS for name in ("hopper", "blackwell_mma", "cdna3", "fma_fp32", "exact", "deepseek")),
]


def nvrtc(source: str, architecture: str) -> str:
    """The messages of the compiler, with registers and spills; the test is skipped without NVRTC."""
    try:
        return cuda.compiled(source, architecture, ("--ptxas-options=--verbose", "--no-cache"))[1]
    except RuntimeError as error:
        if "libnvrtc" in str(error):
            pytest.skip("NVRTC (nvidia-cuda-nvrtc) is not installed")
        raise


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_the_kernel_of_hopper_compiles(architecture: str) -> None:
    made = kernels("e4m3", "e5m2", engine("hopper"))
    log = nvrtc(made.source, architecture)
    print("\n".join(re.findall(r"Compiling entry.*|.*spill.*|Used \d+ registers.*", log)))
    assert made.tiled and re.findall(r"entry function '(\w+)'", log) == ["fp9_tiles", "fp9_sums"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_the_kernels_of_every_preset_compile(name: str) -> None:
    assert "fp9_sums" in nvrtc(kernels("e4m3", "e4m3", ENGINES[name]).source, "sm_90")


def test_tiles_are_for_windows_with_the_addend_inside() -> None:
    tiled = {name for name in PRESETS if kernels("e4m3", "e4m3", ENGINES[name]).tiled}
    assert {"hopper", "ada", "blackwell", "volta", "hopper_16bit", "hopper_mma", "deepseek"} <= tiled
    assert not tiled & {"fma_fp32", "exact", "cdna3", "rvbna4", "fmma"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is there")
@pytest.mark.parametrize(("formats", "name"), CASES)
def test_the_kernels_have_the_bits_of_the_processor(formats: tuple[str, str], name: str) -> None:
    rng = np.random.default_rng(1)
    for depth in (1, 37, 200):
        for kind in ("near", "far", "any"):
            a, b = (
                operand(rng, kind, shape, fmt) for shape, fmt in zip(((70, depth), (depth, 133)), formats, strict=True)
            )
            want = np.asarray(fp9.matmul(a, b, *formats, name)).astype(np.int64)
            for right in (on_device(b), on_device(b.T).t()):
                found = integers.matmul(on_device(a), right, *formats, name).cpu().numpy()
                assert np.array_equal(found, want), (depth, kind)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is there")
def test_the_integer_path_has_the_bits_of_the_kernel_on_a_gpu() -> None:
    rng = np.random.default_rng(2)
    a, b = (on_device(operand(rng, "any", shape, "e4m3")) for shape in ((33, 70), (70, 21)))
    for name in PRESETS:
        found = integers.Product("e4m3", "e4m3", name).cuda()(a, b)
        assert torch.equal(found, integers.matmul(a, b, "e4m3", "e4m3", name)), name


def operand(rng: np.random.Generator, kind: str, shape: tuple[int, int], name: str) -> Any:
    """Codes of near numbers, of numbers far apart, or any codes."""
    fmt = fp9.format(name)
    if kind == "any":
        return rng.integers(0, 1 << fmt.bits, shape).astype(fmt.dtype)
    far = 2.0 ** rng.integers(-8, 4, shape) if kind == "far" else 1.0
    return np.asarray(fp9.encode(rng.normal(size=shape) * far * (rng.random(shape) > 0.1), fmt))


def on_device(codes: Any) -> Any:
    return torch.from_numpy(codes.astype(np.int64)).cuda()


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        (((2, 3), torch.int16), ((3, 2), torch.uint8), "a given as torch.int16 of 2 dimensions; give codes of e4m3"),
        (((2, 3), torch.uint8), ((3,), torch.uint8), "b given as torch.uint8 of 1 dimensions"),
        (((2, 3), torch.uint8), ((3, 2), torch.uint8), "give .* on one CUDA device"),
    ],
)
def test_wrong_tensors_are_refused(a: Any, b: Any, sentence: str) -> None:
    given = [torch.zeros(shape, dtype=dtype) for shape, dtype in (a, b)]
    with pytest.raises(ValueError, match=sentence):
        cuda.matmul(*given, "e4m3", "e4m3", "hopper")
