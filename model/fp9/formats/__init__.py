"""Number formats, as frozen records that define widths, codes and limits.

`NAMED` holds the named formats, `FAMILIES` holds the families of formats with parameters, and `format` finds a format
by name. The methods of a format compute one value at a time, in exact arithmetic.

Sources, by the short names used in the table: FP8 (arXiv 2209.05433, OCP OFP8 v1.0), ONNX (operator `Cast`), GC (Noune
et al., arXiv 2206.02915), HFP8 (Sun et al., NeurIPS 2019), ISSCC21 (Agrawal et al., 9.1), DLF (Agrawal et al., ARITH
2019), HiF8 (Luo et al., arXiv 2409.16626), MX (OCP Microscaling Formats v1.0), P3109 (IEEE P3109 interim report),
MMA-Sim (arXiv 2511.10909), PTX (NVIDIA's instruction set and cuda_fp8.h), HiF4 (arXiv 2602.11287), NVIDIA A100
(whitepaper of the A100 Tensor Core GPU, 2020).
"""

import sys
from types import ModuleType

from fp9.formats.base import TABLE_BITS, Format, Kind, floor_log2, pow2
from fp9.formats.catalogue import FAMILIES, HFP8_BIASES, NAMED, fixed_format, format, with_bias
from fp9.formats.fixed import FixedFormat, Specials
from fp9.formats.hifloat8 import HiFloat8
from fp9.formats.integer import ScaledInteger
from fp9.formats.rounding import Rounding
from fp9.formats.scale import PowerOfTwo
from fp9.formats.spellings import ALIASES, BLOCK_NAMES, FORMAT_NAMES
from fp9.formats.unsigned import UnsignedFloat

__all__ = [
    "ALIASES",
    "BLOCK_NAMES",
    "FAMILIES",
    "FORMAT_NAMES",
    "HFP8_BIASES",
    "NAMED",
    "TABLE_BITS",
    "FixedFormat",
    "Format",
    "HiFloat8",
    "Kind",
    "PowerOfTwo",
    "Rounding",
    "ScaledInteger",
    "Specials",
    "UnsignedFloat",
    "every_format",
    "fixed_format",
    "floor_log2",
    "format",
    "pow2",
    "with_bias",
]


def every_format() -> tuple[Format, ...]:
    """Return all named formats, and one format with default parameters from each family of formats."""
    return (*NAMED.values(), *(build() for build in FAMILIES.values()))


class CallableModule(ModuleType):
    """Module type that makes `fp9.formats` callable: the call `fp9.formats()` returns all formats."""

    def __call__(self) -> tuple[Format, ...]:
        """Return all named formats, and all families of formats with their default parameters."""
        return every_format()


sys.modules[__name__].__class__ = CallableModule
