"""Measure block formats beside a plain copy and torchao, on one thread.

Products of MX blocks are measured beside NumPy's float32 product, and products of NVFP4 blocks beside mmasim.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import fp9
from benchmarks.measure import Contender, Result, baseline, measure
from fp9.blocks import BLOCK_FORMATS, quantise

ELEMENTS = 1 << 23
ROWS, DEPTH, COLUMNS = 64, 1024, 64
MX_SIZE, MX_FORMATS, MX_ENGINES = 512, ("mxfp8_e4m3", "mxfp4"), ("mx", "ace_top4mx", "blackwell", "fma_fp32")


def run() -> list[Result]:
    """Measure every block format by its own scale rule, and matrix products."""
    x = np.random.default_rng(0).standard_normal(ELEMENTS, dtype=np.float32)
    copied = np.empty_like(x)
    results: list[Result] = []
    for name in BLOCK_FORMATS:
        ours = Contender("fp9", lambda name=name: quantise(x, name, threads=1))  # type: ignore[misc]
        copy = Contender("copy", lambda: np.copyto(copied, x))
        contenders = [ours, copy]
        if name in _TORCHAO and (torch := baseline("torch")) is not None and baseline("torchao") is not None:
            torch.set_num_threads(1)
            contenders.append(Contender("torchao", _TORCHAO[name](torch.from_numpy(x).reshape(-1, DEPTH))))
        results += measure(f"float32 -> {name}", ELEMENTS, contenders)
    return results + _mx_products() + _nvfp4_product()


def _to_mxfp8(x: Any) -> Any:
    """Return torchao's conversion to MXFP8, with the same scale rule as fp9."""
    import torch  # optional
    from torchao.prototype.mx_formats.config import ScaleCalculationMode  # optional
    from torchao.prototype.mx_formats.mx_tensor import to_mx  # optional

    return lambda: to_mx(x, torch.float8_e4m3fn, 32, ScaleCalculationMode.FLOOR)


def _to_nvfp4(x: Any) -> Any:
    """Return torchao's conversion to NVFP4 with one level of scales."""
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize  # optional

    return lambda: nvfp4_quantize(x)


_TORCHAO = {"mxfp8_e4m3": _to_mxfp8, "nvfp4": _to_nvfp4}
"""Block formats of torchao."""


def _mx_products() -> list[Result]:
    x, y = np.random.default_rng(1).standard_normal((2, MX_SIZE, MX_SIZE), dtype=np.float32)
    results: list[Result] = []
    for name, engine in itertools.product(MX_FORMATS, MX_ENGINES):
        a, b = (fp9.quantise(values, name) for values in (x, y))
        contenders = [
            Contender("fp9", lambda a=a, b=b, engine=engine: fp9.matmul(a, b.T, engine=engine, threads=1)),  # type: ignore[misc]
            Contender("NumPy float32", lambda: x @ y.T),
        ]
        results += measure(f"{engine}, {name}, {MX_SIZE}^3", MX_SIZE**3, contenders)
    return results


def _nvfp4_product() -> list[Result]:
    rng = np.random.default_rng(1)
    a = quantise(rng.standard_normal((ROWS, DEPTH), dtype=np.float32), "nvfp4")
    b = quantise(rng.standard_normal((COLUMNS, DEPTH), dtype=np.float32), "nvfp4")
    options: dict[str, Any] = {"scale_format": "ue4m3", "block": 16, "threads": 1}
    options |= {"scale_a": a.scales, "scale_b": b.scales.T}

    def ours() -> object:
        return fp9.matmul(a.elements, b.elements.T, "e2m1", "e2m1", "blackwell_nvfp4", **options)

    contenders = [Contender("fp9", ours)]
    if (torch := baseline("torch")) is not None and baseline("mmasim") is not None:
        contenders.append(Contender("mmasim", _mmasim(torch, a, b)))
    return measure(f"blackwell_nvfp4, {ROWS} x {COLUMNS} x {DEPTH}", ROWS * DEPTH * COLUMNS, contenders)


def _mmasim(torch: Any, a: Any, b: Any) -> Any:
    """Return the same product by mmasim, computed in whole rows."""
    from mmasim.nv_ptx import MMABlockScale  # optional

    torch.set_num_threads(1)
    operation = MMABlockScale("RTX Blackwell", "m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3")
    left, right = (torch.from_numpy(x.elements[:, ::2] << 4 | x.elements[:, 1::2]) for x in (a, b))
    alpha, beta = (torch.from_numpy(x.scales).view(torch.float8_e4m3fn) for x in (a, b))
    c = torch.zeros(ROWS, COLUMNS)
    return lambda: operation(left, right.T, c, alpha, beta.T)
