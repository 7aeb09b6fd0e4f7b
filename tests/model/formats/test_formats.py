"""Every format against something outside: another package's table, or figures printed in the format's source."""

from __future__ import annotations

import math
from fractions import Fraction

import en_dtypes
import ml_dtypes
import numpy as np
import pytest
from tests.support.rosters import EVERY_FORMAT, SMALL

import fp9
from fp9.formats import (
    ALIASES,
    FAMILIES,
    HFP8_BIASES,
    NAMED,
    FixedFormat,
    Kind,
    ScaledInteger,
    floor_log2,
    with_bias,
)

OUTSIDE_TABLES = {
    name: np.dtype(getattr(package, alias))
    for package in (ml_dtypes, en_dtypes)
    for alias, name in ALIASES.items()
    if hasattr(package, alias) and NAMED[name].bits <= 8
} | {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}

PRINTED = {
    # name: (largest, smallest, a code and its value), from the source named in the format's row
    "hfp8_152": (98304.0, 1.25 * 2.0**-15, 0x3C, 1.0),
    "tf32": (2.0**127 * (2 - 2.0**-10), 2.0**-136, 0x1FC01, 1 + 2.0**-10),
    "fp9": (1.75 * 2.0**16, 1.125 * 2.0**-15, 0x078, 1.0),
    "dlfloat16": (8573157376.0, 2.0**-31 * (1 + 2.0**-9), 0x3E00, 1.0),
    "fp32": (3.4028234663852886e38, 2.0**-149, 0x3F800000, 1.0),
    "e8m13": (float(np.uint32(0x7F7FFC00).view(np.float32)), 2.0**-139, 0x40490C00, 3.141357421875),
    "hfp8_143": (28.0, 1.125 * 2.0**-11, 0x58, 1.0),
    "f143": (2.0**8 * (2 - 2.0**-3), 2.0**-9, 0x38, 1.0),
    "f152": (2.0**16 * (2 - 2.0**-2), 2.0**-16, 0x3C, 1.0),
    "f134": (2.0**4 * (2 - 2.0**-4), 2.0**-6, 0x30, 1.0),
    "f125": (2.0**2 * (2 - 2.0**-5), 2.0**-5, 0x20, 1.0),
    "f161": (2.0**32 * (2 - 2.0**-1), 2.0**-31, 0x3E, 1.0),
    "int8": (127.0, 1.0, 0xFF, -1.0),
    "mxint8": (1 + 63 / 64, 2.0**-6, 0xC0, -1.0),
    "ue4m3": (448.0, 2.0**-9, 0x38, 1.0),
    "ue5m3": (114688.0, 2.0**-17, 0x78, 1.0),
    "e6m2": (49152.0, 2.0**-48, 0xC0, 1.0),
} | {
    # P3109: largest and smallest number of each precision; 1.0 is the code 0x40.
    f"binary8p{p}se": (largest, smallest, 0x40, 1.0)
    for p, largest, smallest in (
        (1, 2.0**62, 2.0**-63),
        (2, 2.0**31, 2.0**-32),
        (3, 49152.0, 2.0**-17),
        (4, 224.0, 2.0**-10),
        (5, 15.0, 2.0**-7),
        (6, 3.875, 2.0**-6),
        (7, 1.96875, 2.0**-6),
    )
}


@pytest.mark.parametrize("fmt", [fmt for fmt in EVERY_FORMAT if isinstance(fmt, ScaledInteger)], ids=str)
def test_a_sign_and_a_magnitude_have_the_numbers_of_the_integer(fmt: ScaledInteger) -> None:
    negated = fmt.sign_magnitude.sign_mask
    for magnitude in range(fmt.max_code + 1):
        assert fmt.sign_magnitude.value_of(magnitude) == fmt.value_of(magnitude)
        assert fmt.sign_magnitude.value_of(magnitude | negated) == fmt.value_of(-magnitude & 0xFF)


def family(name: str) -> str:
    return name.partition("(")[0]


@pytest.mark.parametrize("fmt", EVERY_FORMAT, ids=str)
def test_a_format_has_an_outside_check_value(fmt: fp9.Format) -> None:
    assert family(fmt.name) in OUTSIDE_TABLES or family(fmt.name) in PRINTED


@pytest.mark.parametrize("name", OUTSIDE_TABLES)
def test_every_code_means_what_the_other_package_says(name: str) -> None:
    fmt, dtype = fp9.format(name), OUTSIDE_TABLES[name]
    codes = np.arange(1 << fmt.bits, dtype=fmt.dtype)
    with np.errstate(invalid="ignore"):  # signalling NaN
        theirs = codes.view(dtype).astype(np.float64)
    assert np.array_equal(fmt.table, theirs, equal_nan=True)
    numbers = ~np.isnan(theirs)
    assert np.array_equal(np.signbit(fmt.table[numbers]), np.signbit(theirs[numbers]))
    assert np.array_equal(fp9.decode(codes, fmt).astype(np.float64), theirs, equal_nan=True)


@pytest.mark.parametrize(
    "name",
    [
        "fp9",
        "dlfloat16",
        "e8m13",
        "1.4.7,b=3,specials=nan_only",
        "1.5.6,specials=p3109",
        "1.3.7,specials=none",
        "1.5.5",
    ],
)
def test_numbers_of_wide_codes_are_those_of_single_codes(name: str) -> None:
    fmt = fp9.formats.fixed_format(name)
    codes = np.arange(0, 1 << fmt.bits, max(1, 1 << fmt.bits >> 12))
    codes = np.concatenate([codes, codes + (fmt.smallest_code if codes[1] > 1 else 0)])
    single = np.array([fmt.to_float(code) for code in codes.tolist()])
    assert np.array_equal(fmt.numbers(codes), single, equal_nan=True)
    assert np.array_equal(np.signbit(fmt.numbers(codes)), np.signbit(single))


def test_a_code_of_tf32_is_the_upper_part_of_an_fp32_pattern() -> None:
    patterns = np.arange(1 << 19, dtype=np.uint32) << np.uint32(13)
    with np.errstate(invalid="ignore"):  # signalling NaN
        numbers = patterns.view(np.float32).astype(np.float64)
    assert np.array_equal(fp9.format("tf32").table, numbers, equal_nan=True)


@pytest.mark.parametrize("name", PRINTED)
def test_limits_are_the_printed_ones(name: str) -> None:
    fmt = fp9.format(name)
    largest, smallest, code, value = PRINTED[name]
    assert (fmt.max, fmt.smallest, fmt.to_float(code)) == (largest, smallest, value)


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_code_of_finds_every_number(fmt: fp9.Format) -> None:
    for code in range(1 << fmt.bits):
        if fmt.kind_of(code) is Kind.FINITE and abs(fmt.value_of(code)) <= fmt.max_magnitude:
            assert fmt.code_of(abs(fmt.value_of(code)), fmt.is_negative(code)) == code


def test_hfp8_143_is_within_fp9_for_every_bias_and_no_further() -> None:
    """ISSCC21: FP9 holds both HFP8 formats for extra biases -8..8."""
    fp9_numbers = {fp9.format("fp9").value_of(code) for code in range(0x1FF)}
    for bias in HFP8_BIASES:
        fmt = with_bias(fp9.format("hfp8_143"), bias)
        assert {fmt.value_of(code) for code in range(0x7F)} <= fp9_numbers
    with pytest.raises(ValueError, match=r"-8\.\.8"):
        fp9.format("hfp8_143(bias=9)")


def test_hif8_misses_fp9_by_eight_magnitudes() -> None:
    """Spec 1.2: 8 magnitudes of HiF8 are no FP9 numbers."""
    hif8, held = fp9.format("hif8"), {fp9.format("fp9").value_of(code) for code in range(0xFF)}
    missing = {hif8.value_of(int(code)) for code in hif8.ordered_magnitudes()} - held
    assert len(missing) == 8


def test_ue4m3_is_e4m3_without_its_sign() -> None:
    """PTX: ue4m3 is e4m3 whose sign bit is 0."""
    theirs = np.arange(128, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    assert np.array_equal(fp9.format("ue4m3").table, theirs, equal_nan=True)


def test_a_scale_without_zero_takes_the_smallest_number_in_its_place() -> None:
    e6m2, ue5m3 = fp9.format("e6m2"), fp9.format("ue5m3")
    codes, flags = fp9.encode([2.0**-60, 0.0, -1.0], e6m2, flags=True)
    assert (codes.tolist(), flags.tolist()) == ([0, 0xFF, 0xFF], [3, 16, 16])
    codes, flags = fp9.encode([2.0**-60, -0.0, -1.0], ue5m3, flags=True)
    assert (codes.tolist(), flags.tolist()) == ([0, 0, 0xFF], [3, 0, 16])
    with pytest.raises(ValueError, match="no zero"):
        fp9.encode([1.0], e6m2, nan_to_zero=True)


def test_reserve_top_gives_the_highest_code_its_value_back() -> None:
    fmt = fp9.format("hfp8_143(bias=4,reserve_top=False)")
    assert (fmt.max, fmt.has_nan) == (30.0, False)
    with pytest.raises(ValueError, match="no NaN"):
        fp9.encode([math.nan], fmt)
    assert fp9.encode([math.nan], fmt, nan_to_zero=True).tolist() == [0]


@pytest.mark.parametrize(
    "name", [name for name in OUTSIDE_TABLES if OUTSIDE_TABLES[name].type.__module__ != "en_dtypes"]
)
def test_attributes_are_finfos(name: str) -> None:
    fmt, theirs = fp9.format(name), ml_dtypes.finfo(OUTSIDE_TABLES[name])
    assert fmt.max == float(theirs.max) and fmt.min == float(theirs.min) and fmt.eps == float(theirs.eps)
    assert fmt.smallest_normal == float(theirs.smallest_normal)
    assert fmt.smallest_subnormal == float(theirs.smallest_subnormal)
    assert fmt.bits == theirs.bits


def test_a_format_is_found_by_dtype_alias_and_description() -> None:
    assert fp9.format(np.float16) is fp9.format("half")
    assert fp9.format(np.dtype(ml_dtypes.float8_e4m3fn)) is fp9.format("e4m3")
    assert fp9.format(en_dtypes.hifloat8) is fp9.format("hif8")
    described = fp9.format("1.4.3,b=11,specials=merged,subnormals=false")
    assert np.array_equal(described.table, fp9.format("hfp8_143").table, equal_nan=True)
    assert np.array_equal(fp9.format("1.4.3,b=10").table, fp9.format("f143(bias=10)").table, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("e4m4", "unknown format"),
        ("hfp8_143(size=2)", "does not take"),
        ("f143(bias=1.5)", "name=integer"),
        ("1.9.3", "1 to 8"),
        ("1.4.3,b=7,specials=some", "choose one of"),
        ("f143(bias=900)", "-512..512"),
    ],
)
def test_a_name_that_is_not_known_is_explained(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fp9.format(name)


def test_only_names_and_dtypes_name_a_format() -> None:
    with pytest.raises(TypeError, match="int given"):
        fp9.format(3)


@pytest.mark.parametrize("fmt", [f for f in EVERY_FORMAT if isinstance(f, FixedFormat)], ids=str)
def test_highest_exponent_is_that_of_the_largest_number(fmt: FixedFormat) -> None:
    assert Fraction(2) ** fmt.highest_exponent <= fmt.max_magnitude < Fraction(2) ** (fmt.highest_exponent + 1)
    assert fmt.highest_exponent == floor_log2(fmt.max_magnitude)


def test_the_catalogue_and_its_families_are_apart() -> None:
    assert not NAMED.keys() & FAMILIES.keys() and ALIASES.keys().isdisjoint(NAMED)
