"""Block formats and their scale rules (OCP MX, NVFP4, HiF4)."""

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
