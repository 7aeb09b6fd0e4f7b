"""Casts against the specification's figures and against other packages."""

from __future__ import annotations

import en_dtypes
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rosters import MONOTONE, TABLED, TARGETS, beyond, overflows, policy_of, thinned

import fp9
from fp9.casts.sources import Hybrid
from fp9.formats import ALIASES, Format, Kind, Rounding
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow
from fp9.oracle import casts as oracle


def code(x: float, fmt: str, *args: str, **options: object) -> int:
    return int(fp9.encode(np.float64(x), fmt, *args, **options))


# --- boundaries that the specification pins (2.1, 2.2) -------------------------------------------------


def test_e4m3_464_ties_to_448_and_above_overflows() -> None:
    assert code(464.0, "e4m3", "rne", "inf") == 0x7E
    assert code(np.nextafter(464.0, 500.0), "e4m3", "rne", "inf") == 0x7F


def test_e5m2_61440_overflows() -> None:
    assert code(61440.0, "e5m2", "rne", "inf") == 0x7C
    assert code(np.nextafter(61440.0, 0.0), "e5m2", "rne", "inf") == 0x7B


@pytest.mark.parametrize("rounding", ["rna", "rne"])
def test_hif8_40960_overflows(rounding: str) -> None:
    """rna: away; rne: to the code whose last bit is 0, which is 2^15 (numerics.md, hybrid rounding)."""
    assert code(40960.0, "hif8", rounding, "inf") == (0x6F if rounding == "rna" else 0x6E)
    assert code(np.nextafter(40960.0, 0.0), "hif8", rounding, "inf") == 0x6E


def test_dlfloat16_first_nan_inf_and_first_non_zero_from_fp32() -> None:
    """DLF: 8577351680 = 0x4FFFA000 is the first NaN-Inf, 0x30002000 the first non-zero."""
    patterns = np.array([0x4FFF9FFF, 0x4FFFA000, 0x30001FFF, 0x30002000], dtype=np.uint32)
    assert fp9.encode(patterns.view(np.float32), "dlfloat16", "rna", "inf").tolist() == [0x7FFE, 0x7FFF, 0, 1]


def test_hfp8_first_non_zero_is_not_half_of_the_smallest() -> None:
    """numerics.md, conversion: under rna the first non-zero result comes at 2^-bias (1 + 2^-(p+1))."""
    first = 2.0**-11 * (1 + 2.0**-4)
    assert [code(first, "hfp8_143"), code(np.nextafter(first, 0), "hfp8_143")] == [1, 0]


SPECIALS = {
    # format: codes of NaN, +Inf, -Inf and +1e30 under saturate, then under inf (numerics.md, conversion)
    "e4m3": ([0x7F, 0x7E, 0xFE, 0x7E], [0x7F, 0x7F, 0xFF, 0x7F]),
    "e5m2": ([0x7F, 0x7B, 0xFB, 0x7B], [0x7F, 0x7C, 0xFC, 0x7C]),
    "e4m3fnuz": ([0x80, 0x80, 0x80, 0x7F], [0x80, 0x80, 0x80, 0x80]),
    "f152": ([0x80, 0x80, 0x80, 0x7F], [0x80, 0x80, 0x80, 0x80]),
    "hfp8_143": ([0x7F, 0x7E, 0xFE, 0x7E], [0x7F, 0x7F, 0x7F, 0x7F]),
    "dlfloat16": ([0x7FFF, 0x7FFE, 0xFFFE, 0x7FFE], [0x7FFF, 0x7FFF, 0x7FFF, 0x7FFF]),
    "hif8": ([0x80, 0x6E, 0xEE, 0x6E], [0x80, 0x6F, 0xEF, 0x6F]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SPECIALS)
def test_specials_follow_the_table(name: str, dtype: type) -> None:
    source = np.array([np.nan, np.inf, -np.inf, 1e30], dtype=dtype)
    saturated, through = SPECIALS[name]
    assert fp9.encode(source, name, overflow="saturate").tolist() == saturated
    assert fp9.encode(source, name, overflow="inf").tolist() == through


def test_inf_clip_saturates_infinities_of_formats_with_one_nan() -> None:
    assert fp9.encode([np.inf, -np.inf], "e4m3fnuz", inf_clip=True).tolist() == [0x7F, 0xFF]


ROUNDED = {
    # rounding: what 8, 8 1/4, 8 1/2, 8 3/4, 9, 9 1/4, 9 1/2, 9 3/4 and their opposites become (IEEE 754-2019, 4.3)
    Rounding.RNE: ([8, 8, 8, 9, 9, 9, 10, 10], [-8, -8, -8, -9, -9, -9, -10, -10]),
    Rounding.RNA: ([8, 8, 9, 9, 9, 9, 10, 10], [-8, -8, -9, -9, -9, -9, -10, -10]),
    Rounding.RTZ: ([8, 8, 8, 8, 9, 9, 9, 9], [-8, -8, -8, -8, -9, -9, -9, -9]),
    Rounding.RUP: ([8, 9, 9, 9, 9, 10, 10, 10], [-8, -8, -8, -8, -9, -9, -9, -9]),
    Rounding.RDN: ([8, 8, 8, 8, 9, 9, 9, 9], [-8, -9, -9, -9, -9, -10, -10, -10]),
    # Boldo and Melquiond, "When double rounding is odd", IMACS 2005: what is inexact takes the odd neighbour.
    Rounding.RTO: ([8, 9, 9, 9, 9, 9, 9, 9], [-8, -9, -9, -9, -9, -9, -9, -9]),
    # numerics.md, stochastic rounding, random bits of one half: the dropped bits and they carry from a half on.
    Rounding.SR: ([8, 8, 9, 9, 9, 9, 10, 10], [-8, -8, -9, -9, -9, -9, -10, -10]),
    # P3109 v4.0, 4.7.4, StochasticB and C: random bits of one half carry from a half less half a bit's step on.
    Rounding.SRB: ([8, 8, 9, 9, 9, 9, 10, 10], [-8, -8, -9, -9, -9, -9, -10, -10]),
    Rounding.SRC: ([8, 8, 9, 9, 9, 9, 10, 10], [-8, -8, -9, -9, -9, -9, -10, -10]),
    # Bochs, fp8.cc: as sr among normal numbers.
    Rounding.BIAS: ([8, 8, 9, 9, 9, 9, 10, 10], [-8, -8, -9, -9, -9, -9, -10, -10]),
    # HiF8 section 3.2: ties away near 1.
    Rounding.HYBRID: ([8, 8, 9, 9, 9, 9, 10, 10], [-8, -8, -9, -9, -9, -9, -10, -10]),
}


@pytest.mark.parametrize("rounding", Rounding)
def test_a_rounding_has_an_outside_check_value(rounding: Rounding) -> None:
    """Of hif8, or e4m3 where hif8 does not offer it, at 1: significands of 4 bits are the integers 8 to 15."""
    target = "hif8" if fp9.format("hif8").offers(rounding) else "e4m3"
    random_bits = np.full(8, 1 << 15) if rounding.needs_bits else None
    quarters = np.arange(32, 40, dtype=np.float32) / 4
    for numbers, rounded in zip((quarters, -quarters), ROUNDED[rounding], strict=True):
        codes = fp9.encode(numbers / 8, target, rounding, random_bits=random_bits)
        assert (fp9.decode(codes, target) * 8).tolist() == rounded


# --- hybrid rounding ------------------------------------------------------------------------------------

ANCHORS = """
3638C290 04 05 05 05; 33FFFFFF 00 00 00 00; 34000000 01 01 01 01; 34800000 01 02 02 02; 37800000 07 7E 7E 7E
37BFFFFF 07 07 07 07; 417FFFFF 40 40 40 40; 41800000 40 41 41 41; 41802000 40 40 40 40; 41900000 41 41 41 41
41903FFF 41 40 40 40; 43C01234 61 61 61 61; 47000000 6E 6F 6F 6E; 47000001 6E 6E 6E 6E; 47200000 6F 6F 6F 6E
47203FFF 6F 6F 6E 6E; 4743505E 6F 6F 6F 6E; C1800000 C0 C1 C1 C1; 80000001 00 00 00 00; 7FC00000 80 80 80 00
FF800000 EF EF EF EE
"""
ROWS = [[int(word, 16) for word in row.split()] for line in ANCHORS.strip().splitlines() for row in line.split("; ")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]:08X}")
def test_hybrid_anchors(row: list[int]) -> None:
    """FP32 pattern, then rna, hybrid, hybrid with doc overflow, and saturating hybrid with NaN to zero."""
    x = np.array([row[0]], dtype=np.uint32).view(np.float32)
    got = [
        fp9.encode(x, "hif8", "rna", "inf"),
        fp9.encode(x, "hif8", "hybrid", "inf"),
        fp9.encode(x, "hif8", "hybrid", "inf", hybrid=Hybrid(doc_overflow=True)),
        fp9.encode(x, "hif8", "hybrid", "saturate", nan_to_zero=True),
    ]
    assert [int(c[0]) for c in got] == row[1:]


def test_hybrid_moves_140_of_253_numbers_unless_strict() -> None:
    """numerics.md, hybrid rounding: from FP32, F = T = 0 rounds up; strict uses F > T. FP16 sources are immune."""
    hif8 = fp9.format("hif8")
    finite = np.array([c for c in range(256) if hif8.kind_of(c) in (Kind.FINITE, Kind.ZERO)], dtype=np.uint8)
    numbers = fp9.decode(finite, hif8)
    assert finite.size == 253
    assert np.count_nonzero(fp9.encode(numbers, hif8, "hybrid", "inf") != finite) == 140
    assert np.array_equal(fp9.encode(numbers, hif8, "hybrid", hybrid=Hybrid(strict=True)), finite)
    assert np.array_equal(fp9.encode(numbers.astype(np.float16), hif8, "hybrid"), finite)


def test_bf16_under_hybrid_has_two_readings() -> None:
    x = np.array([16.0], dtype=ml_dtypes.bfloat16)
    assert fp9.encode(x, "hif8", "hybrid").tolist() == [0x40]
    assert fp9.encode(x, "hif8", "hybrid", hybrid=Hybrid(bf16_via_fp32=True)).tolist() == [0x41]


def test_hybrid_needs_a_source_with_bits_and_a_hif8_target() -> None:
    with pytest.raises(TypeError, match="float32, float16 or bfloat16"):
        fp9.encode(np.float64([1.0]), "hif8", "hybrid")
    with pytest.raises(ValueError, match="not defined for e4m3"):
        fp9.encode(np.float32([1.0]), "e4m3", "hybrid")


@settings(max_examples=300, deadline=None)
@given(pattern=st.integers(0, 0xFFFFFFFF), strict=st.booleans(), doc=st.booleans(), overflow=st.sampled_from(Overflow))
def test_hybrid_from_fp32_is_the_oracles(pattern: int, strict: bool, doc: bool, overflow: Overflow) -> None:
    x = np.array([pattern], dtype=np.uint32).view(np.float32)
    got = fp9.encode(x, "hif8", "hybrid", overflow, hybrid=Hybrid(strict, doc))
    bits = oracle.HybridBits(pattern & 0x3FFF, 14, strict, doc)
    policy = CastPolicy(Rounding.HYBRID, overflow)
    assert int(got[0]) == oracle.encode(oracle.decode(pattern, fp9.format("fp32")), fp9.format("hif8"), policy, bits)[0]


# --- other packages ---------------------------------------------------------------------------------------

ML_DTYPES = {n: np.dtype(getattr(ml_dtypes, a)) for a, n in ALIASES.items() if hasattr(ml_dtypes, a)}
TIES_UP = {"e8m0"}
"""Ties that ml_dtypes rounds up, and we to the code that ends in 0 (numerics.md).

It also gives 2^-126 for every float32 above 2^-127, however near 2^-127 it is; these are left out.
"""


def near_boundaries(name: str) -> np.ndarray:
    """Numbers, midpoints and their float32 neighbours of a format, and a stride over all float32 patterns."""
    fmt = fp9.format(name)
    magnitudes = fmt.table[fmt.ordered_magnitudes()[: 1 << 12]]
    midpoints = (magnitudes[1:] + magnitudes[:-1]) / 2
    beyond = [fmt.max * (1 + 2.0**-i) for i in range(1, 9)]
    with np.errstate(over="ignore"):
        exact = np.concatenate([magnitudes, midpoints, beyond]).astype(np.float32)
    points = np.concatenate([exact, np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(np.inf))])
    stride = np.arange(0, 1 << 32, 65521, dtype=np.uint32).view(np.float32)
    return np.concatenate([points, -points, stride])


@pytest.mark.parametrize("name", ML_DTYPES)
def test_rne_from_float32_is_ml_dtypes(name: str) -> None:
    """ml_dtypes does not saturate where the format has NaN; its NaN codes differ, so NaN is compared as such."""
    fmt, x = fp9.format(name), near_boundaries(name)
    if not fmt.has_nan:
        x = np.where(np.isnan(x), np.float32(0), x)
    if name in TIES_UP:
        x = x[(x <= 2.0**-127) | (x >= 2.0**-126) | np.isnan(x)]
    with np.errstate(invalid="ignore"):
        theirs = x.astype(ML_DTYPES[name])
    ours = fp9.encode(x, fmt, "rna" if name in TIES_UP else "rne", beyond(fmt))
    nan = np.isnan(theirs.astype(np.float32))
    assert np.array_equal(np.isnan(fp9.decode(ours, fmt)), nan)
    assert np.array_equal(ours[~nan], theirs.view(fmt.dtype)[~nan])


def test_rna_to_hif8_is_en_dtypes() -> None:
    x = near_boundaries("hif8")
    with np.errstate(invalid="ignore"):
        theirs = x.astype(en_dtypes.hifloat8).view(np.uint8)
    assert np.array_equal(fp9.encode(x, "hif8", "rna", "inf"), theirs)


def test_16_bit_floats_from_float32_are_numpys() -> None:
    x = near_boundaries("fp16")
    x = x[~np.isnan(x)]
    with np.errstate(over="ignore"):
        assert np.array_equal(fp9.encode(x, "fp16", "rne", "inf"), x.astype(np.float16).view(np.uint16))


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "hif8"])
def test_float64_is_rounded_once_where_others_round_twice(name: str) -> None:
    """Just above a midpoint by less than half a float32 ulp: float32 lies on the midpoint, the number does not."""
    x = np.float64([1 + 2.0**-4 + 2.0**-30, 1 + 2.0**-3 + 2.0**-30])
    x = x[:1] if name == "e4m3" else x[1:] if name == "e5m2" else -(2.0**4) * (1 + 2.0**-3 - 2.0**-30) * np.ones(1)
    ours = fp9.encode(x, name)
    twice = fp9.encode(x.astype(np.float32), name)
    package = en_dtypes.hifloat8 if name == "hif8" else ML_DTYPES[name]
    assert ours != twice and x.astype(package).view(np.uint8) == twice
    exact = oracle.exact(oracle.Fraction(float(x[0])))
    assert ours == oracle.encode(exact, fp9.format(name), CastPolicy())[0]


# --- every source against the oracle --------------------------------------------------------------------------------


def by_oracle(x: int | float, fmt: Format, policy: CastPolicy) -> tuple[int, int]:
    if isinstance(x, float) and not np.isfinite(x):
        kind = Kind.NAN if np.isnan(x) else Kind.INF
        value = oracle.Exact(kind, bool(np.signbit(x)))
    else:
        value = oracle.exact(oracle.Fraction(x), isinstance(x, float) and bool(np.signbit(x)))
    result, flags = oracle.encode(value, fmt, policy)
    return result, int(flags)


def check(x: np.ndarray, fmt: Format, policy: CastPolicy) -> None:
    given = policy.rounding, policy.overflow
    codes, flags = fp9.encode(x, fmt, *given, nan_to_zero=policy.nan_to_zero, flags=True)
    want = by_oracle(x[0].item(), fmt, policy)
    assert (int(codes[0]), int(flags[0])) == want
    assert fp9.encode(x, fmt, *given, nan_to_zero=policy.nan_to_zero).tolist() == [want[0]]


@st.composite
def casts(draw: st.DrawFn) -> tuple[Format, CastPolicy]:
    fmt = draw(st.sampled_from(TARGETS))
    return fmt, policy_of(fmt, draw(st.sampled_from(MONOTONE)), draw(st.sampled_from(overflows(fmt))))


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(pattern=st.integers(0, 0xFFFFFFFF), cast=casts())
def test_float32_is_the_oracles(pattern: int, cast: tuple[Format, CastPolicy]) -> None:
    check(np.array([pattern], dtype=np.uint32).view(np.float32), *cast)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(x=st.floats(width=64) | st.floats(-1e6, 1e6) | st.floats(-1e-4, 1e-4), cast=casts())
def test_float64_is_the_oracles(x: float, cast: tuple[Format, CastPolicy]) -> None:
    check(np.array([x]), *cast)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(x=st.integers(-(2**63), 2**63 - 1) | st.integers(-70000, 70000), cast=casts())
def test_int64_is_the_oracles(x: int, cast: tuple[Format, CastPolicy]) -> None:
    check(np.array([x]), *cast)


@pytest.mark.every(2)
@pytest.mark.parametrize("fmt", thinned(TABLED), ids=str)
def test_midpoints_and_their_float64_neighbours_are_the_oracles(fmt: Format) -> None:
    """Beside 40 numbers of each format, the smallest and the largest among them."""
    ordered = fmt.ordered_magnitudes()
    places = np.unique(np.linspace(0, ordered.size - 2, 40).astype(int))
    below, above = (fmt.table[ordered[at]] for at in (places, places + 1))
    points = np.concatenate([below, above[-1:], (below + above) / 2])
    x = np.concatenate([points, np.nextafter(points, 0), np.nextafter(points, np.inf)])
    x = np.concatenate([x, -x])
    for mode in MONOTONE:
        codes, flags = fp9.encode(x, fmt, mode, flags=True)
        assert np.array_equal(codes, fp9.encode(x, fmt, mode))
        want = [by_oracle(v, fmt, CastPolicy(mode)) for v in x.tolist()]
        assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == want, mode


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_every_integer_type_is_a_source(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([0, 1, 17, 100, info.max, info.min], dtype=dtype)
    want = [by_oracle(v, fp9.format("e5m2"), CastPolicy())[0] for v in x.tolist()]
    assert fp9.encode(x, "e5m2").tolist() == want


@pytest.mark.every(3)
@pytest.mark.parametrize("source", thinned(TABLED), ids=str)
def test_code_to_code_casts_are_the_oracles(source: Format) -> None:
    """To every format; of 16 bits, a sample of the codes."""
    codes = np.unique(np.linspace(0, (1 << source.bits) - 1, 128).astype(int))
    for target in TARGETS:
        policy = policy_of(target, None)
        want = [oracle.encode(oracle.decode(int(c), source), target, policy)[0] for c in codes]
        assert fp9.cast(codes, source, target, nan_to_zero=policy.nan_to_zero).tolist() == want, target


@pytest.mark.parametrize("fmt", TABLED, ids=str)
def test_every_format_takes_back_its_own_numbers(fmt: Format) -> None:
    codes = np.array([c for c in range(1 << fmt.bits) if fmt.kind_of(c) is Kind.FINITE], dtype=fmt.dtype)
    produced = codes[np.abs(fmt.table[codes]) <= fmt.max]  # without -128 of the integers
    for mode in MONOTONE:
        assert np.array_equal(fp9.encode(fp9.decode(produced, fmt), fmt, mode), produced), mode
