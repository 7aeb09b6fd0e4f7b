"""Matrix products of network layers on 8-bit codes, with a bit-accurate accumulator."""

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
"""Exponents of the powers of two that scale a layer's activations and weights before the cast."""


@dataclass(frozen=True)
class EightBit:
    """Matrix product whose operands are cast to a format and whose sums are bit-accurate.

    The cast rounds to nearest with ties away from zero, and saturates. `engine` is the accumulator model that adds the
    products. `exponents` holds the exponents of the power-of-two scales, by the name of the layer. The result is
    divided exactly by the power-of-two scales of both operands.
    """

    fmt: Format
    engine: Engine
    exponents: Mapping[str, Pair] = field(default_factory=dict)

    def __call__(self, name: str, x: Numbers, weight: Numbers) -> Numbers:
        return self.with_pair(x, weight, self.exponents.get(name, (0, 0)))

    def with_pair(self, x: Numbers, weight: Numbers, pair: Pair) -> Numbers:
        """Multiply a matrix of rows (n, in) by a weight matrix (in, out).

        `pair` holds the exponents of both operands' power-of-two scales.
        """
        a = encode(x, self.fmt, "rna", scale=-pair[0])
        b = encode(weight, self.fmt, "rna", scale=-pair[1])
        sums = decode(matmul(a, b, self.fmt, self.fmt, self.engine), self.engine.output)
        return np.ldexp(sums.astype(np.float32), -(pair[0] + pair[1]))


def eight_bit(
    fmt: str | Format, sums: str | Engine = "fma_fp32", exponents: Mapping[str, Pair] | None = None
) -> EightBit:
    """Return an 8-bit matrix product that uses the named format and the named accumulator model.

    Raises ValueError for unknown names.
    """
    return EightBit(format(fmt), engine(sums), exponents or {})


def through(x: Numbers, fmt: str | Format) -> Numbers:
    """Round numbers to a format: to nearest with ties away from zero, with saturation."""
    codes = encode(x, fmt, "rna")
    return decode(codes, fmt).astype(np.float32, copy=False)
