"""Measure the area and delay of a matrix-product tile, in total and per element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fp9_rtl.gemm.tile import GemmComponent, GemmTile
from fp9_rtl.synthesis.circuit import circuit
from fp9_rtl.synthesis.libraries import Library
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_rtl.synthesis.run import Progress, synthesise


@dataclass(frozen=True)
class TileArea:
    """Area and delay of a matrix-product tile for one synthesis mapping."""

    tile: str
    mapping: str
    area_um2: float
    logic_um2: float
    flip_flop_um2: float
    flip_flops: int
    # Area of the tile, including casts and control logic, divided by the number of elements.
    element_um2: float
    delay_ns: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    tile: GemmTile,
    *,
    library: str | Library = "osu018",
    mappings: Sequence[str] = MAPPED,
    progress: Progress | None = None,
) -> tuple[TileArea, ...]:
    """Synthesise a tile with each mapping, and return the area and delay for each mapping.

    Raises the same errors as `synthesise`.
    """
    found = synthesise(
        circuit(GemmComponent(tile), tile.name), tile.name, library=library, mappings=mappings, progress=progress
    )
    return tuple(
        TileArea(
            tile.name,
            e.mapping,
            e.area_um2,
            e.logic_um2,
            e.flip_flop_um2,
            e.flip_flops,
            e.area_um2 / (tile.rows * tile.columns),
            e.delay_ns,
        )
        for e in found.estimates
    )
