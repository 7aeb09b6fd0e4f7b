"""Conversion of arrays to and from block formats, whose elements share scales."""

from fp9.blocks.arrays import Quantised, dequantise, quantise, tensor_scale
from fp9.formats.blocks import (
    BLOCK_FORMATS,
    RULES,
    BlockFormat,
    Divisor,
    ScaleRule,
    block_format,
    block_formats,
    blocks_of,
)

__all__ = [
    "BLOCK_FORMATS",
    "RULES",
    "BlockFormat",
    "Divisor",
    "Quantised",
    "ScaleRule",
    "block_format",
    "block_formats",
    "blocks_of",
    "dequantise",
    "quantise",
    "tensor_scale",
]
