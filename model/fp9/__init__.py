"""fp9: the reference for 8-bit floating-point hardware, as a bit-accurate model.

>>> import fp9
>>> import numpy as np
>>> fp9.encode(np.float32([16.0]), "hif8", rounding="hybrid").tolist()  # 20.0: see docs/guide.md on hybrid rounding
[65]
"""

from fp9.casts.arrays import Hybrid, cast, decode, encode
from fp9.casts.counts import Counts
from fp9.casts.random_bits import Stochastic
from fp9.engines import Engine, engine
from fp9.formats import Format, Rounding, format
from fp9.rounding import Flags, NanSign, Overflow
from fp9.sums.operands import Operand, operand
from fp9.sums.products import dot, matmul

__version__ = "0.1.0"

__all__ = [
    "Counts",
    "Engine",
    "Flags",
    "Format",
    "Hybrid",
    "NanSign",
    "Operand",
    "Overflow",
    "Rounding",
    "Stochastic",
    "cast",
    "decode",
    "dot",
    "encode",
    "engine",
    "format",
    "matmul",
    "operand",
]
