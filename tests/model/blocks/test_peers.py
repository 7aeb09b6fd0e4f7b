"""The record of scales and elements of other packages leaves nothing unexplained."""

from __future__ import annotations

from pathlib import Path

from tests.model.blocks.peers import BLOCKS, inputs, read

from fp9.blocks import quantise
from fp9.scaling import block_format

DOCS = Path(__file__).parents[3] / "docs"
ROWS = read(DOCS / "peers" / "blocks.json")


def test_blocks_that_are_compared_have_every_scale() -> None:
    """All but the few at the top, which no finite amax asks for."""
    for block in BLOCKS:
        scales = quantise(inputs(block), block, rule="floor").scales
        top = 254 - int(block_format(block).element.max).bit_length() + 1
        assert set(range(top + 1)) <= set(scales.reshape(-1).tolist())
