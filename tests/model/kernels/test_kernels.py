"""The kernels against the oracle and its thresholds: two texts of one specification, bit for bit, flags too."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import MONOTONE, TARGETS, UNSIGNED, WITH_ZERO, overflows, policy_of, thinned, together

from fp9.casts.arrays import Hybrid, encode_numbers, hybrid_thresholds
from fp9.casts.plans import encoder
from fp9.casts.random_bits import RandomBits
from fp9.casts.request import NOTHING, Request, universal
from fp9.formats import FixedFormat, Format, Rounding, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Overflow
from fp9.oracle import casts as oracle
from fp9.oracle.thresholds import threshold_table

SIXTEEN_BIT = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
EVERY = 1 << 16


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


CASTS = together(itertools.product(WITH_ZERO, MONOTONE), itertools.product(SIXTEEN_BIT, Overflow))
"""Of six roundings or more, each format meets both sources with every overflow policy."""

WHOLE = [(*cast, *beside) for cast, beside in CASTS]


@pytest.mark.every(7)
@pytest.mark.parametrize(("fmt", "mode", "source", "overflow"), thinned(WHOLE, every=4), ids=str)
def test_every_16_bit_source_rounds_as_the_thresholds_say(
    fmt: Format, mode: Rounding, source: str, overflow: Overflow
) -> None:
    numbers = numbers_of(source, np.arange(EVERY))
    policy = policy_of(fmt, mode, overflow if overflow in overflows(fmt) else Overflow.SATURATE)
    codes, flags = encode_numbers(numbers, fmt, policy, Hybrid(), flags=True)
    fast, _ = encode_numbers(numbers, fmt, policy, Hybrid())
    assert np.array_equal(codes, fast)
    for negative, half in ((False, slice(0, EVERY // 2)), (True, slice(EVERY // 2, EVERY))):
        want_codes, want_flags = by_thresholds(source, fmt, policy, negative)
        assert np.array_equal(codes[half], want_codes), np.flatnonzero(codes[half] != want_codes)[:5]
        assert np.array_equal(flags[half], want_flags), np.flatnonzero(flags[half] != want_flags)[:5]


@pytest.mark.every(8)
@pytest.mark.parametrize("source", SIXTEEN_BIT)
@pytest.mark.parametrize("fmt", thinned(TARGETS), ids=str)
def test_drawn_16_bit_sources_round_as_the_oracle_says(fmt: Format, source: str) -> None:
    drawn = np.random.default_rng(1).choice(EVERY, 250, replace=False)
    for mode in MONOTONE:
        for overflow in overflows(fmt):
            policy = policy_of(fmt, mode, overflow)
            codes, flags = encode_numbers(numbers_of(source, drawn), fmt, policy, Hybrid(), flags=True)
            want = [oracle.encode(exact_source(source, int(code)), fmt, policy) for code in drawn]
            assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == [(code, int(f)) for code, f in want]


_SOURCES_AND_POLICIES = itertools.product(SIXTEEN_BIT, Overflow, [64])
_OF_EVERY_CODE = thinned(itertools.product(SIXTEEN_BIT, [Overflow.INF], [1]), every=2)


@pytest.mark.every(11)
@pytest.mark.parametrize(("source", "overflow", "stride"), [*_SOURCES_AND_POLICIES, *_OF_EVERY_CODE])
def test_16_bit_sources_round_as_the_oracle_says_under_hybrid(source: str, overflow: Overflow, stride: int) -> None:
    numbers, policy = numbers_of(source, np.arange(EVERY)), CastPolicy(Rounding.HYBRID, overflow)
    read, width = hybrid_thresholds(numbers.dtype, Hybrid())
    codes, flags = encode_numbers(numbers, format("hif8"), policy, Hybrid(), flags=True)
    fast, _ = encode_numbers(numbers, format("hif8"), policy, Hybrid())
    thresholds = read(numbers).tolist()
    for code in range(0, EVERY, stride):
        bits = oracle.HybridBits(thresholds[code], width)
        want = oracle.encode(exact_source(source, code), format("hif8"), policy, bits)
        assert (codes[code], flags[code]) == want, hex(code)
    assert np.array_equal(codes, fast)


STOCHASTIC = [
    *((Rounding.SR, width) for width in (8, 16, 20, 32)),
    *((Rounding.SRB, 9), (Rounding.SRC, 1), (Rounding.SRC, 12), (Rounding.BIAS, 8)),
]
"""Roundings that take random bits, with numbers of them."""


@pytest.mark.every(2)
@pytest.mark.parametrize(("fmt", "by"), thinned(itertools.product(TARGETS, STOCHASTIC)), ids=str)
def test_stochastic_rounding_is_the_oracles(fmt: Format, by: tuple[Rounding, int]) -> None:
    rounding, width = by
    if not fmt.offers(rounding):
        with pytest.raises(ValueError, match=f"{rounding.value} rounding is not defined for"):
            policy_of(fmt, rounding).check(fmt)
        return
    generator, policy = np.random.default_rng(width), policy_of(fmt, rounding)
    for dtype in (np.float32, np.float64):
        source = (generator.choice([-1, 1], 100) * 2.0 ** generator.uniform(-30, 12, 100)).astype(dtype)
        bits = generator.integers(0, 1 << width, source.size, dtype=np.uint32)
        codes, flags = encode_numbers(source, fmt, policy, Hybrid(), bits, width, flags=True)
        fast, _ = encode_numbers(source, fmt, policy, Hybrid(), bits, width)
        exact = [oracle.exact(oracle.Fraction(float(x))) for x in source]
        want = [
            oracle.encode(x, fmt, policy, oracle.RandomBits(int(r), width)) for x, r in zip(exact, bits, strict=True)
        ]
        assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == [(code, int(f)) for code, f in want]
        assert np.array_equal(codes, fast)


def around_every_number(fmt: Format) -> NDArray[np.float64]:
    """Numbers and midpoints of a format, their float64 neighbours, their negatives, powers of two and specials."""
    numbers = fmt.table[fmt.ordered_magnitudes()]
    points = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, fmt.max * np.float64([1.01, 1.3, 4, 1e9])])
    points = np.concatenate([points, np.exp2(np.arange(-300.0, 300.0)), 5e-324 * np.arange(3), [np.inf, np.nan]])
    near = np.concatenate([points, np.nextafter(points, 0), np.nextafter(points, np.inf)])
    return np.concatenate([near, -near])


@pytest.mark.every(6)
@pytest.mark.parametrize("fmt", [*UNSIGNED, *(fmt for fmt in TARGETS if fmt.twos_complement)], ids=str)
def test_formats_without_a_sign_bit_round_alike_in_all_kernels(fmt: Format) -> None:
    """Vector kernels for float32 and float64 patterns, and the kernel with a rounding table."""
    numbers = around_every_number(fmt)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = numbers.astype(np.float32)
    for rounding, overflow, to_zero, flagged in itertools.product(
        MONOTONE, overflows(fmt), {fmt.has_zero, not fmt.has_nan}, (False, True)
    ):
        policy = CastPolicy(rounding, overflow, nan_to_zero=to_zero)
        request = Request(fmt, policy, flags=flagged)
        for source in (numbers, narrow):
            want, want_flags = np.empty(source.size, dtype=fmt.dtype), np.empty(flagged * source.size, dtype=np.uint8)
            plan = universal(request, source.dtype)
            plan.encode(NOTHING, slice(0, source.size), source, want, want_flags)
            codes, flags = encode_numbers(source, fmt, policy, Hybrid(), flags=flagged)
            assert np.array_equal(codes, want) and np.array_equal(flags, want_flags)
        assert encoder(request, numbers.dtype, numbers.size).encode.__module__ != universal.__module__


def test_stochastic_bits_stand_for_all_elements_when_there_is_one() -> None:
    source = np.full(5, 1.06, dtype=np.float32)
    policy = CastPolicy(Rounding.SR)
    for bits in (0, (1 << 16) - 1):
        one = encode_numbers(source, format("e4m3"), policy, Hybrid(), np.array([bits]), 16)[0]
        each = encode_numbers(source, format("e4m3"), policy, Hybrid(), np.full(5, bits), 16)[0]
        assert np.array_equal(one, each)
    assert RandomBits(np.arange(4), 3).part(slice(1, 3)).tolist() == [1, 2]
