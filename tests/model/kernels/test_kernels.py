"""The kernels against the oracle and its thresholds: two texts of one specification, bit for bit, flags too."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from fp9.casts.arrays import Hybrid, encode_numbers, hybrid_thresholds
from fp9.casts.random_bits import RandomBits
from fp9.formats import FixedFormat, Format, Rounding, format
from fp9.oracle import casts as oracle
from fp9.oracle.thresholds import threshold_table
from fp9.policy import CastPolicy
from fp9.rounding import Flags, Overflow

MONOTONE = [Rounding.RNE, Rounding.RNA, Rounding.RTZ, Rounding.RUP, Rounding.RDN]
SIXTEEN_BIT = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
WHOLE = ["e4m3", "e5m2", "hfp8_143", "hfp8_152", "hif8", "fp9", "e4m3fnuz", "f143(bias=10)"]
"""Formats, one of each kind, compared on every input of 16 bits."""

OTHERS = ["e5m2fnuz", "e4m3b11fnuz", "e4m3ieee", "e3m4ieee", "e2m1", "e2m3", "e3m2", "e8m0", "hfp8_143(bias=-3)"]
OTHERS += ["hfp8_143(bias=4,reserve_top=False)", "f134", "f125", "f152(bias=20)", "f161", "int8", "int8(bias=9)"]
OTHERS += [f"binary8p{p}" for p in range(1, 8)] + ["dlfloat16", "fp16", "bf16", "fp32", "e8m13"]
OTHERS += ["1.5.10,b=3", "1.8.10,b=127,specials=ieee"]
EVERY = 1 << 16


def overflows(fmt: Format) -> list[Overflow]:
    return [Overflow.SATURATE] if fmt.nan_code(False) is None else list(Overflow)


def policy_of(fmt: Format, mode: Rounding, overflow: Overflow) -> CastPolicy:
    return CastPolicy(mode, overflow, nan_to_zero=fmt.nan_code(False) is None)


@functools.cache
def exact_source(name: str, code: int) -> oracle.Exact:
    return oracle.decode(code, format(name))


def numbers_of(source: str, patterns: NDArray[Any]) -> NDArray[Any]:
    return patterns.astype(np.uint16).view(SIXTEEN_BIT[source])


def by_thresholds(source: str, fmt: Format, policy: CastPolicy, negative: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes and flags of all magnitude patterns of one sign, from the oracle's thresholds."""
    held = format(source)
    assert isinstance(held, FixedFormat)
    table = threshold_table(held, fmt, policy, negative)
    patterns = np.arange(EVERY // 2)
    steps = np.searchsorted([step.first for step in table.steps], patterns, side="right") - 1
    codes = np.array([step.code for step in table.steps])[steps]
    flags = np.where(patterns < table.tiny_below, int(Flags.INEXACT | Flags.UNDERFLOW), int(Flags.INEXACT))
    flags[patterns >= table.overflow_from] = int(Flags.OVERFLOW | Flags.INEXACT)
    flags[[0, *table.exact]] = 0
    flags[table.infinity], flags[table.nan_from :] = int(table.infinity_flags), int(table.nan_flags)
    return codes, flags


@pytest.mark.parametrize("source", SIXTEEN_BIT)
@pytest.mark.parametrize("mode", MONOTONE)
@pytest.mark.parametrize("name", WHOLE)
def test_every_16_bit_source_rounds_as_the_thresholds_say(name: str, mode: Rounding, source: str) -> None:
    fmt = format(name)
    numbers = numbers_of(source, np.arange(EVERY))
    for overflow in overflows(fmt):
        policy = policy_of(fmt, mode, overflow)
        codes, flags = encode_numbers(numbers, fmt, policy, Hybrid(), flags=True)
        fast, _ = encode_numbers(numbers, fmt, policy, Hybrid())
        assert np.array_equal(codes, fast)
        for negative, half in ((False, slice(0, EVERY // 2)), (True, slice(EVERY // 2, EVERY))):
            want_codes, want_flags = by_thresholds(source, fmt, policy, negative)
            assert np.array_equal(codes[half], want_codes), np.flatnonzero(codes[half] != want_codes)[:5]
            assert np.array_equal(flags[half], want_flags), np.flatnonzero(flags[half] != want_flags)[:5]


@pytest.mark.parametrize("source", SIXTEEN_BIT)
@pytest.mark.parametrize("name", WHOLE + OTHERS)
def test_drawn_16_bit_sources_round_as_the_oracle_says(name: str, source: str) -> None:
    fmt = format(name)
    drawn = np.random.default_rng(1).choice(EVERY, 250, replace=False)
    for mode in MONOTONE:
        for overflow in overflows(fmt):
            policy = policy_of(fmt, mode, overflow) if fmt.signed else CastPolicy(mode, overflow)
            codes, flags = encode_numbers(numbers_of(source, drawn), fmt, policy, Hybrid(), flags=True)
            want = [oracle.encode(exact_source(source, int(code)), fmt, policy) for code in drawn]
            assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == [(code, int(f)) for code, f in want]


@pytest.mark.parametrize("source", SIXTEEN_BIT)
@pytest.mark.parametrize("overflow", Overflow)
def test_every_16_bit_source_rounds_as_the_oracle_says_under_hybrid(source: str, overflow: Overflow) -> None:
    numbers, policy = numbers_of(source, np.arange(EVERY)), CastPolicy(Rounding.HYBRID, overflow)
    read, width = hybrid_thresholds(numbers.dtype, Hybrid())
    codes, flags = encode_numbers(numbers, format("hif8"), policy, Hybrid(), flags=True)
    fast, _ = encode_numbers(numbers, format("hif8"), policy, Hybrid())
    thresholds = read(numbers).tolist()
    stride = 1 if overflow is Overflow.INF else 64
    for code in range(0, EVERY, stride):
        bits = oracle.HybridBits(thresholds[code], width)
        want = oracle.encode(exact_source(source, code), format("hif8"), policy, bits)
        assert (codes[code], flags[code]) == want, hex(code)
    assert np.array_equal(codes, fast)


@pytest.mark.parametrize("width", [8, 16, 20, 32])
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e4m3fnuz", "hfp8_143", "hif8", "bf16", "int8", "binary8p1"])
def test_stochastic_rounding_is_the_oracles(name: str, width: int) -> None:
    fmt, generator = format(name), np.random.default_rng(width)
    policy = policy_of(fmt, Rounding.SR, Overflow.SATURATE)
    for dtype in (np.float32, np.float64):
        source = (generator.choice([-1, 1], 400) * 2.0 ** generator.uniform(-30, 12, 400)).astype(dtype)
        bits = generator.integers(0, 1 << width, source.size, dtype=np.uint32)
        codes, flags = encode_numbers(source, fmt, policy, Hybrid(), bits, width, flags=True)
        fast, _ = encode_numbers(source, fmt, policy, Hybrid(), bits, width)
        exact = [oracle.exact(oracle.Fraction(float(x))) for x in source]
        want = [
            oracle.encode(x, fmt, policy, oracle.RandomBits(int(r), width)) for x, r in zip(exact, bits, strict=True)
        ]
        assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == [(code, int(f)) for code, f in want]
        assert np.array_equal(codes, fast)


def test_stochastic_bits_stand_for_all_elements_when_there_is_one() -> None:
    source = np.full(5, 1.06, dtype=np.float32)
    policy = CastPolicy(Rounding.SR)
    for bits in (0, (1 << 16) - 1):
        one = encode_numbers(source, format("e4m3"), policy, Hybrid(), np.array([bits]), 16)[0]
        each = encode_numbers(source, format("e4m3"), policy, Hybrid(), np.full(5, bits), 16)[0]
        assert np.array_equal(one, each)
    assert RandomBits(np.arange(4), 3).part(slice(1, 3)).tolist() == [1, 2]
