"""Block formats and their scale rules (OCP MX, NVFP4, HiF4).

The elements of a block share one scale. `BLOCK_FORMATS` holds the block formats, and `RULES` the scale rules. The
package `fp9.blocks` casts arrays to block formats, and `fp9.units` describes the hardware units.
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
