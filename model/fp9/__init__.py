"""fp9: the reference for 8-bit floating-point hardware, as a bit-accurate model.

>>> import fp9
>>> import numpy as np
>>> fp9.encode(np.float32([16.0]), "hif8", rounding="hybrid").tolist()  # 20.0: see docs/guide.md on hybrid rounding
[65]
"""

from fp9.casting import Hybrid, cast, decode, encode
from fp9.dot import dot, matmul
from fp9.engine import Engine, engine
from fp9.flags import Flags
from fp9.formats import Format, Rounding, format
from fp9.policy import Overflow
from fp9.stochastic import Stochastic

__version__ = "0.1.0"

__all__ = [
    "Engine",
    "Flags",
    "Format",
    "Hybrid",
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
]
