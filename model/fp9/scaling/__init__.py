"""What a block is: elements that share a scale, and the rules that give it (OCP MX, NVFP4, HiF4).

Others use the records of `BLOCK_FORMATS` and `RULES`; arrays of blocks are `fp9.blocks`, circuits `fp9.units`.
"""

from fp9.scaling.catalogue import BLOCK_FORMATS, BlockFormat, block_format, block_formats, blocks_of
from fp9.scaling.rules import RULES, Divisor, ScaleRule, scale_rule

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
