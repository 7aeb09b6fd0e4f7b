"""Block formats and scale rules (OCP MX, NVFP4, HiF4). The elements of a block share a scale.

The public interface is the records of `BLOCK_FORMATS` and `RULES`. `fp9.blocks` has arrays of blocks,
`fp9.units` has circuits.
"""

from fp9.formats.blocks.catalogue import BLOCK_FORMATS, BlockFormat, block_format, block_formats, blocks_of
from fp9.formats.blocks.rules import RULES, Divisor, ScaleRule, scale_rule

__all__ = [
    "BLOCK_FORMATS",
    "RULES",
    "BlockFormat",
    "Divisor",
    "ScaleRule",
    "block_format",
    "block_formats",
    "blocks_of",
    "scale_rule",
]
