"""Matrix products of layers on 8-bit codes.

An engine adds the products of elements. Each operand can be scaled by a power of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.engines import Engine, engine
from fp9.formats import Format, format
from fp9.sums.products import matmul
from fp9_ml.experiments.networks.layers import Numbers

Pair = tuple[int, int]
"""Exponents of two powers of two.

The two powers multiply the activations and the weights of a layer before the cast.
"""


@dataclass(frozen=True)
class EightBit:
    """Product of operands that are cast to a format.

    The cast rounds to nearest and saturates. An engine adds the products bit-exactly.

    `exponents` holds the exponents of the scaled layers. The result is divided by both powers of two, exactly.
    """

    fmt: Format
    engine: Engine
    exponents: Mapping[str, Pair] = field(default_factory=dict)

    def __call__(self, name: str, x: Numbers, weight: Numbers) -> Numbers:
        return self.with_pair(x, weight, self.exponents.get(name, (0, 0)))

    def with_pair(self, x: Numbers, weight: Numbers, pair: Pair) -> Numbers:
        """Multiply rows (n, in) by weights (in, out), scaled by the given exponents."""
        a = encode(x, self.fmt, "rna", scale=-pair[0])
        b = encode(weight, self.fmt, "rna", scale=-pair[1])
        sums = decode(matmul(a, b, self.fmt, self.fmt, self.engine), self.engine.output)
        return np.ldexp(sums.astype(np.float32), -(pair[0] + pair[1]))


def eight_bit(
    fmt: str | Format, sums: str | Engine = "fma_fp32", exponents: Mapping[str, Pair] | None = None
) -> EightBit:
    """Return an `EightBit` for the names of a format and an engine. Raises ValueError for unknown names."""
    return EightBit(format(fmt), engine(sums), exponents or {})


def through(x: Numbers, fmt: str | Format) -> Numbers:
    """Round numbers to a format: to nearest with ties away from zero, saturating."""
    codes = encode(x, fmt, "rna")
    return decode(codes, fmt).astype(np.float32, copy=False)
