"""The kernels against the oracle: two texts of one specification, bit for bit."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest

from fp9 import oracle
from fp9.casting import Hybrid, encode_numbers, hybrid_thresholds
from fp9.formats import FAMILIES, NAMED, Format, Rounding, format
from fp9.policy import CastPolicy, Overflow

FORMATS = [
    *NAMED.values(),
    *(build() for build in FAMILIES.values()),
    format("hfp8_143(bias=-3)"),
    format("f143(bias=10)"),
]
DIRECTED = [Rounding.RNE, Rounding.RNA, Rounding.RTZ, Rounding.RUP, Rounding.RDN]
SIXTEEN_BIT = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


def modes(fmt: Format) -> list[Rounding]:
    return [*DIRECTED, Rounding.HYBRID] if fmt.name == "hif8" else DIRECTED


def overflows(fmt: Format) -> list[Overflow]:
    return [Overflow.SATURATE] if fmt.nan_code(False) is None else list(Overflow)


@functools.cache
def exact_source(name: str) -> list[oracle.Exact]:
    return [oracle.decode(code, format(name)) for code in range(1 << 16)]


def expected(
    x: oracle.Exact, fmt: Format, policy: CastPolicy, bits: oracle.HybridBits | None = None
) -> tuple[int, int]:
    code, flags = oracle.encode(x, fmt, policy, bits)
    return code, int(flags)


@pytest.mark.parametrize("source", SIXTEEN_BIT)
@pytest.mark.parametrize("fmt", [f for f in FORMATS if f.bits <= 9], ids=str)
def test_every_16_bit_source_rounds_as_the_oracle_says(fmt: Format, source: str) -> None:
    dtype = SIXTEEN_BIT[source]
    numbers = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    read_threshold, width = hybrid_thresholds(dtype, Hybrid())
    thresholds = read_threshold(numbers).tolist()
    nan_to_zero = fmt.nan_code(False) is None
    for mode in modes(fmt):
        for overflow in overflows(fmt):
            policy = CastPolicy(mode, overflow, nan_to_zero)
            codes, flags = encode_numbers(numbers, fmt, policy, Hybrid(), flags=True)
            want = [
                expected(x, fmt, policy, oracle.HybridBits(t, width))
                for x, t in zip(exact_source(source), thresholds, strict=True)
            ]
            got = list(zip(codes.tolist(), flags.tolist(), strict=True))
            assert got == want, (mode, overflow, [i for i in range(1 << 16) if got[i] != want[i]][:5])
