"""Training recipes for block formats, with blocks along the summed axis of a matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp9.arrays import Array, matmul, quantise
from fp9.casts.arrays import decode, encode
from fp9.formats import format
from fp9.profiles import scaled_mm

Numbers = NDArray[np.float32]
_E4M3 = format("e4m3")
_SIDE = 128


@dataclass(frozen=True)
class BlockRecipe:
    """Training recipe that multiplies FP32 arrays x (M, K) and w (K, N) in a block format."""

    name: str
    # The arguments are x, w, and whether w is the weight matrix of a layer.
    multiply: Callable[[Numbers, Numbers, bool], Numbers]
    source: str


def _blocks(block: str, engine: str) -> Callable[[Numbers, Numbers, bool], Numbers]:
    def multiply(x: Numbers, w: Numbers, weighted: bool) -> Numbers:
        product = matmul(quantise(x, block), quantise(w, block, axis=-2), engine=engine)
        return np.asarray(decode(product.codes, product.format), np.float32)

    return multiply


def _scaled(x: Numbers, rows: int) -> tuple[Array, Numbers]:
    """Cast blocks of `rows` x 128 elements to E4M3 with the FP32 scales amax / 448."""
    sides = [-(-size // block) for size, block in zip(x.shape, (rows, _SIDE), strict=True)]
    padded = np.zeros((sides[0] * rows, sides[1] * _SIDE), np.float32)
    padded[: x.shape[0], : x.shape[1]] = x
    amax = np.abs(padded).reshape(sides[0], rows, sides[1], _SIDE).max((1, 3))
    scales = np.where((amax > 0) & np.isfinite(amax), amax / np.float32(_E4M3.max), np.float32(1))
    spread = scales.repeat(rows, 0).repeat(_SIDE, 1)[: x.shape[0], : x.shape[1]]
    return Array(np.asarray(encode(x / spread, _E4M3)), _E4M3), scales.astype(np.float32)


def _deepseek(x: Numbers, w: Numbers, weighted: bool) -> Numbers:
    (a, scale_a), (b, scale_b) = _scaled(x, 1), _scaled(np.ascontiguousarray(w.T), _SIDE if weighted else 1)
    columns = Array(np.ascontiguousarray(b.codes.T), _E4M3)
    product = scaled_mm(a, columns, scale_a, np.ascontiguousarray(scale_b.T), out_dtype="fp32", profile="deepgemm")
    return np.asarray(product.codes.view(np.float32))


BLOCK_RECIPES: dict[str, BlockRecipe] = {
    r.name: r
    for r in (
        BlockRecipe("mxfp8", _blocks("mxfp8_e4m3", "blackwell"), "OCP MX 1.0; E4M3 in all products, as in TE's MXFP8"),
        BlockRecipe("nvfp4", _blocks("nvfp4", "blackwell_nvfp4"), "NVFP4 to nearest, without Hadamard transforms"),
        BlockRecipe("deepseek", _deepseek, "DeepSeek-V3, section 3.3: 1 x 128 and 128 x 128, sums as in DeepGEMM"),
    )
}
