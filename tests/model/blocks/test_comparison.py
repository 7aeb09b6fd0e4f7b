"""The blocks that are compared with other packages cover every scale."""

from __future__ import annotations

from tests.model.blocks.comparison import BLOCKS, inputs

from fp9.blocks import quantise
from fp9.formats.blocks import block_format


def test_blocks_that_are_compared_have_every_scale() -> None:
    """All but the few at the top, which no finite amax asks for."""
    for block in BLOCKS:
        scales = quantise(inputs(block), block, rule="floor").scales
        top = 254 - int(block_format(block).element.max).bit_length() + 1
        assert set(range(top + 1)) <= set(scales.reshape(-1).tolist())
