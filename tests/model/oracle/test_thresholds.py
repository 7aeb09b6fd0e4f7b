"""Threshold tables say what the oracle says, and what the sources of the formats say about their boundaries."""

from __future__ import annotations

import random

import pytest
from tests.support.rosters import CAST_SOURCES, MONOTONE, WITH_ZERO, overflows, policy_of, thinned, together

from fp9.formats import FixedFormat, Format, HiFloat8, Rounding, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow
from fp9.oracle.casts import HybridBits, decode, encode
from fp9.oracle.hybrid import hybrid_table
from fp9.oracle.thresholds import threshold_table

DRAWN = 300


def _fixed(name: str) -> FixedFormat:
    fmt = format(name)
    assert isinstance(fmt, FixedFormat)
    return fmt


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("narrow", "wide", "rounding", "negative"),
    thinned(together(WITH_ZERO, CAST_SOURCES, MONOTONE, [False, True])),
    ids=str,
)
def test_monotone_casts_equal_the_oracle(narrow: Format, wide: FixedFormat, rounding: Rounding, negative: bool) -> None:
    sign, drawn = (wide.sign_mask if negative else 0), random.Random(1)
    for overflow in overflows(narrow):
        policy = policy_of(narrow, rounding, overflow)
        table = threshold_table(wide, narrow, policy, negative)
        for pattern in [0, wide.magnitude_mask, *(drawn.randrange(wide.sign_mask) for _ in range(DRAWN))]:
            assert table.result(pattern) == encode(decode(pattern | sign, wide), narrow, policy), hex(pattern)


@pytest.mark.every(3)
@pytest.mark.parametrize("source", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("overflow", Overflow)
def test_hybrid_casts_equal_the_oracle(source: str, overflow: Overflow) -> None:
    wide, narrow = _fixed(source), HiFloat8()
    policy = CastPolicy(Rounding.HYBRID, overflow)
    table = hybrid_table(wide, narrow, policy, negative=False)
    stochastic = (table.ranges[0][0] - 2, table.ranges[-1][1] + 2)
    drawn = random.Random(2)
    patterns = [number.first + offset for number in table.numbers[1:-1] for offset in (-1, 0, 1)]
    for pattern in [*patterns, *(drawn.randrange(*stochastic) for _ in range(2000))]:
        bits = HybridBits(pattern & 0x3FFF, 14) if wide.bits == 32 else HybridBits((pattern & 1) * 2 + 1, 2)
        assert table.result(pattern) == encode(decode(pattern, wide), narrow, policy, bits), hex(pattern)


@pytest.mark.parametrize(
    ("target", "policy", "pattern", "code"),
    [
        ("e4m3", CastPolicy(Rounding.RNE, Overflow.INF), 0x43E80000, 0x7E),  # 464 ties to 448
        ("e4m3", CastPolicy(Rounding.RNE, Overflow.INF), 0x43E80001, 0x7F),  # above it NaN
        ("e5m2", CastPolicy(Rounding.RNE, Overflow.INF), 0x47700000, 0x7C),  # 61440 is infinity
        ("hif8", CastPolicy(Rounding.RNA, Overflow.INF), 0x471FFFFF, 0x6E),  # below 40960 is 2^15
        ("hif8", CastPolicy(Rounding.RNA, Overflow.INF), 0x47200000, 0x6F),
    ],
)
def test_boundaries_that_the_sources_name(target: str, policy: CastPolicy, pattern: int, code: int) -> None:
    assert threshold_table(_fixed("fp32"), format(target), policy, negative=False).result(pattern)[0] == code


@pytest.mark.parametrize("rounding", [rounding for rounding in Rounding if rounding not in MONOTONE])
def test_a_rounding_without_thresholds_is_named(rounding: Rounding) -> None:
    with pytest.raises(ValueError, match=f"{rounding.value} has no thresholds"):
        threshold_table(_fixed("fp32"), format("hif8"), CastPolicy(rounding), negative=False)
