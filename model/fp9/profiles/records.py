"""Records of what a library's matrix product computes: calls, epilogues, splits of K and kinds of scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
Chunk = Callable[[Any, Any, Any, Any], Numbers]
"""Function of a chunk's sum, the scales of a and b, and the total."""


@dataclass(frozen=True)
class Scaling:
    """Kind of scales. `format` holds their codes (None: FP32 numbers), `block` products of K share a scale.

    `shapes(m, n, k)` returns the pairs of shapes that scales of a (m, k) and b (k, n) may have.
    """

    name: str
    shapes: Callable[[int, int, int], tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]]
    format: str | None = None
    block: int | None = None


@dataclass(frozen=True)
class Split:
    """How K is divided among parts, in tiles of `tile` products, and how the sums of the parts are added in FP32."""

    name: str
    tile: int
    owner: Callable[[int, int], Numbers]
    """owner(tiles, parts) returns the part of each tile."""
    join: Callable[[list[Numbers]], Numbers]

    def parts(self, depth: int, count: int) -> list[Numbers]:
        """Return the indices of K that each part sums, in order."""
        tiles = -(-depth // self.tile)
        owners = np.repeat(self.owner(tiles, count), self.tile)[:depth]
        return [np.flatnonzero(owners == part) for part in range(count)]


@dataclass(frozen=True)
class Epilogue:
    """Operations that a library applies to the sums.

    `scale` applies the scales; if the library offers a choice, the function depends on the order of the two factors.
    `bias` adds the bias. None means that the rounding of the bias is unknown. `outputs` lists the result's formats.
    """

    scale: dict[str, Callable[[Any, Any, Any], Numbers]]
    bias: Callable[[Any, Any], Numbers] | None
    outputs: tuple[str, ...] = ("fp32", "bf16", "fp16")
    takes_result_scale: bool = True


@dataclass(frozen=True)
class Call:
    """A library's product for one kind of scales.

    `fast` and `slow` are the accumulators with and without `use_fast_accum`. None means that the accumulator is
    unknown. `splits` names how the library may divide K. `may_split` says whether it does so at all.
    """

    scaling: str
    fast: str | None
    slow: str | None
    epilogue: Epilogue
    splits: tuple[str, ...] = ()
    may_split: bool = True
    chunks: tuple[Chunk, Chunk] | None = None
    """How the sum of a chunk is scaled and added to the total: for scales of b by column, and by block of columns."""


@dataclass(frozen=True)
class Profile:
    """A device and a library with versions, and the calls whose arithmetic is known. `source` says who measured it."""

    name: str
    device: str
    library: str
    source: str
    calls: tuple[Call, ...]
    names: tuple[str, ...] = ()
    refused: tuple[tuple[str, str, str], ...] = ()
    """Formats of a, b and result that the library refuses."""
