"""Records that describe a GPU library's matrix product: scales, splits of K, and epilogues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
Chunk = Callable[[Any, Any, Any, Any], Numbers]
"""Function that scales a chunk's sum and adds it to the total.

The arguments are the chunk's sum, the scale of a, the scale of b, and the total.
"""


@dataclass(frozen=True)
class Scaling:
    """Kind of operand scales, such as one scale per tensor, or one scale per block.

    `format` is the format of scale codes, or None for FP32 scales. `block` is the number of products along K with the
    same scale. The function `shapes(m, n, k)` returns the allowed pairs of scale shapes. A pair holds the shape of the
    scales of the operand a (m, k), and the shape of the scales of the operand b (k, n).
    """

    name: str
    shapes: Callable[[int, int, int], tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]]
    format: str | None = None
    block: int | None = None


@dataclass(frozen=True)
class Split:
    """Way to split the K products of a sum into parts (split-K).

    The K products are divided into tiles of `tile` consecutive products, and each tile belongs to one part. The
    function `join` adds the partial sums of all parts with FP32 additions.
    """

    name: str
    tile: int
    owner: Callable[[int, int], Numbers]
    """Function of the number of tiles and the number of parts that returns the part of each tile."""
    join: Callable[[list[Numbers]], Numbers]

    def parts(self, depth: int, count: int) -> list[Numbers]:
        """Return one array for each part of a split sum: the indices of the products in the part."""
        tiles = -(-depth // self.tile)
        owners = np.repeat(self.owner(tiles, count), self.tile)[:depth]
        return [np.flatnonzero(owners == part) for part in range(count)]


@dataclass(frozen=True)
class Epilogue:
    """Operations that a GPU library applies to the sums of a matrix product.

    `scale` holds two functions, for the two orders ("ab" and "ba") in which the scales can be multiplied. `bias` is the
    function that adds the bias to the scaled sums, or None if the rounding of this addition is unknown. `outputs` lists
    the formats of the result. `takes_result_scale` is false if the library ignores the scale of the result.
    """

    scale: dict[str, Callable[[Any, Any, Any], Numbers]]
    bias: Callable[[Any, Any], Numbers] | None
    outputs: tuple[str, ...] = ("fp32", "bf16", "fp16")
    takes_result_scale: bool = True


@dataclass(frozen=True)
class Call:
    """Description of how a GPU library computes matrix products whose operands have one kind of scales.

    `fast` names the accumulator model for `use_fast_accum=True`, or is None if the library refuses
    `use_fast_accum=True`. `slow` names the accumulator model for `use_fast_accum=False`, or is None if the accumulator
    is unknown. `splits` names the known ways in which the library splits the K products of a sum into parts (split-K).
    `may_split` is false if the library never divides the K products of a sum among several partial sums.
    """

    scaling: str
    fast: str | None
    slow: str | None
    epilogue: Epilogue
    splits: tuple[str, ...] = ()
    may_split: bool = True
    chunks: tuple[Chunk, Chunk] | None = None
    """Functions that scale a chunk's sum and add it to the total.

    The first function is for one scale of b per column, and the second for one scale per block of columns.
    """


@dataclass(frozen=True)
class Profile:
    """Record of a GPU, a library with its version, and the library's matrix products whose arithmetic is known.

    `source` names the measurements and publications that show how the library computes matrix products.
    """

    name: str
    device: str
    library: str
    source: str
    calls: tuple[Call, ...]
    names: tuple[str, ...] = ()
    refused: tuple[tuple[str, str, str], ...] = ()
    """Combinations of the formats of a, b and the result that the library refuses."""
