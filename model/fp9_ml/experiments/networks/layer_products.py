"""Bit-accurate matrix products of 8-bit codes for the layers of small networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.engines import Engine, engine
from fp9.formats import Format, format
from fp9.sums.products import matmul
from fp9_ml.experiments.networks.layers import Numbers

# Scale exponents of a layer's activations and weights.
Pair = tuple[int, int]


@dataclass(frozen=True)
class EightBit:
    """Bit-accurate matrix product of operands in a narrow format."""

    fmt: Format
    engine: Engine
    # Scale exponents of activations and weights, by the layer's name.
    exponents: Mapping[str, Pair] = field(default_factory=dict)

    def __call__(self, name: str, x: Numbers, weight: Numbers) -> Numbers:
        return self.with_pair(x, weight, self.exponents.get(name, (0, 0)))

    def with_pair(self, x: Numbers, weight: Numbers, pair: Pair) -> Numbers:
        """Multiply `x` (n, in) by `weight` (in, out), after scaling the operands by 2^pair[0] and 2^pair[1]."""
        a = encode(x, self.fmt, "rna", scale=-pair[0])
        b = encode(weight, self.fmt, "rna", scale=-pair[1])
        sums = decode(matmul(a, b, self.fmt, self.fmt, self.engine), self.engine.output)
        return np.ldexp(sums.astype(np.float32), -(pair[0] + pair[1]))


def eight_bit(
    fmt: str | Format, sums: str | Engine = "fma_fp32", exponents: Mapping[str, Pair] | None = None
) -> EightBit:
    return EightBit(format(fmt), engine(sums), exponents or {})


def through(x: Numbers, fmt: str | Format) -> Numbers:
    """Round to nearest with ties away from zero, and saturate large numbers."""
    codes = encode(x, fmt, "rna")
    return decode(codes, fmt).astype(np.float32, copy=False)
