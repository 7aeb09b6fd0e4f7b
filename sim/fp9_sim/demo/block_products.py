"""Compute matrix products of a network layer in block formats (MXFP8, NVFP4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.blocks import dequantise, quantise, tensor_scale
from fp9.engines import Engine, engine
from fp9.formats.blocks import BlockFormat, block_format
from fp9_sim.demo.layer import DIRECTIONS, factors, relative_error
from fp9_sim.demo.network import LayerTensors, Matrix

BLOCKS = ("mxfp8_e4m3", "nvfp4")

ACCUMULATOR = "fma_fp32"


@dataclass(frozen=True)
class BlockProduct:
    """Relative errors of a network layer's matrix product with both factors in a block format."""

    direction: str
    block: BlockFormat
    engine: Engine
    # The errors are defined as in the class `layer.Product`.
    quantisation_error: float
    accumulation_error: float
    total_error: float


def products(layer: LayerTensors) -> list[BlockProduct]:
    return [
        product(*factors(direction, layer), direction, block_format(block), engine(ACCUMULATOR))
        for direction in DIRECTIONS
        for block in BLOCKS
    ]


def product(x: Matrix, y: Matrix, direction: str, block: BlockFormat, by: Engine) -> BlockProduct:
    a, t_a, values_a = _quantised(x, block, -1)
    b, t_b, values_b = _quantised(y, block, 0)
    scales: dict[str, Any] = {"scale_a": a.scales, "scale_b": b.scales, "scale_format": block.scale}
    codes = fp9.matmul(a.elements, b.elements, block.element, block.element, by, block=block.length, **scales)
    golden = fp9.decode(codes, by.output).astype(np.float64) * (t_a * t_b)
    real, exact = x.astype(np.float64) @ y.astype(np.float64), values_a @ values_b
    errors = relative_error(exact, real), relative_error(golden, exact), relative_error(golden, real)
    return BlockProduct(direction, block, by, *errors)


def _quantised(x: Matrix, block: BlockFormat, axis: int) -> tuple[fp9.blocks.Quantised, float, NDArray[np.float64]]:
    scale = tensor_scale(x, block) if block.tensor else None
    made = quantise(x, block, axis, tensor_scale=scale)
    values = dequantise(*made, block, axis, tensor_scale=scale)
    return made, 1.0 if scale is None else float(scale), values
