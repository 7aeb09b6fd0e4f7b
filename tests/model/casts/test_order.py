"""Order, neighbours, spacing and classes of codes, against NumPy on the decoded values."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from tests.support.rosters import SMALL

import fp9
from fp9.casts import order as library
from fp9.casts.order import UNORDERED, Class


def every(fmt: fp9.Format) -> np.ndarray:
    return np.arange(1 << fmt.bits, dtype=fmt.dtype)


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_comparison_is_that_of_the_values(fmt: fp9.Format) -> None:
    codes = every(fmt)
    a, b = fmt.table[codes][:, None], fmt.table[codes][None, :]
    got = library.compare(codes[:, None], codes[None, :], fmt)
    assert np.array_equal(got == -1, a < b) and np.array_equal(got == 1, a > b)
    assert np.array_equal(got == 0, a == b) and np.array_equal(got == UNORDERED, np.isnan(a) | np.isnan(b))


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_total_order_puts_nan_outside_and_tells_zeros_apart(fmt: fp9.Format) -> None:
    codes = every(fmt)
    keys, values = library.order(codes, fmt), fmt.table
    ranked = codes[np.argsort(keys, kind="stable")]
    numbers = [v for v in values[ranked] if not np.isnan(v)]
    assert all(a <= b for a, b in itertools.pairwise(numbers))
    nan = np.isnan(values)
    assert all((keys[c] < keys[~nan].min()) == bool(np.signbit(values[c])) for c in codes[nan])
    if 0.0 in values and np.signbit(values[values == 0]).any():
        assert keys[(values == 0) & np.signbit(values)].max() < keys[(values == 0) & ~np.signbit(values)].min()


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_nextafter_visits_every_number_once_on_the_way_up(fmt: fp9.Format) -> None:
    numbers = np.unique(fmt.table[~np.isnan(fmt.table) & (np.abs(fmt.table) <= fmt.max)])
    codes, top = every(fmt), np.argmax(np.where(np.isnan(fmt.table), -np.inf, fmt.table))
    code = codes[np.flatnonzero(fmt.table == numbers[0])[:1]]
    seen = [fmt.table[code[0]]]
    for _ in numbers[1:]:
        code = library.nextafter(code, codes[top], fmt)
        seen.append(fmt.table[code[0]])
    assert seen == numbers.tolist()
    if fmt.has_inf:
        assert np.isinf(fmt.table[library.nextafter(code, codes[top], fmt)[0]])


@pytest.mark.parametrize(("name", "dtype"), [("fp16", np.float16), ("fp32", np.float32)])
def test_nextafter_is_numpys(name: str, dtype: type) -> None:
    fmt = fp9.format(name)
    codes = np.random.default_rng(0).integers(0, 1 << fmt.bits, (2, 20000)).astype(fmt.dtype)
    codes[0, :4], codes[1, :4] = [0, 1, fmt.sign_mask | 1, fmt.max_code], [1, 0, 0, fmt.max_code + 1]
    with np.errstate(all="ignore"):
        theirs = np.nextafter(codes[0].view(dtype), codes[1].view(dtype))
    ours = library.nextafter(codes[0], codes[1], fmt)
    numbers = ~np.isnan(theirs)
    stepped_from_zero = numbers & (codes[0] & (fmt.sign_mask - 1) == 0)
    assert np.array_equal(ours[numbers & ~stepped_from_zero], theirs.view(fmt.dtype)[numbers & ~stepped_from_zero])
    assert np.isnan(ours.view(dtype)[~numbers]).all()


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "fp16", "bf16"])
def test_ulp_is_numpys_spacing(name: str) -> None:
    dtype = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "fp16": np.float16}.get(
        name, ml_dtypes.bfloat16
    )
    fmt = fp9.format(name)
    codes = np.arange(fmt.max_code, dtype=fmt.dtype)
    theirs = np.spacing(codes.view(dtype)).astype(np.float64)
    assert np.array_equal(library.ulp(codes, fmt), theirs)


def test_ulp_of_hif8_tapers() -> None:
    """HiF8 section 2: 3, 2, 1 fraction bits at |E| = 3, 7, 15; the denormals are powers of two."""
    values = np.array([8.0, 128.0, 32768.0, 2.0**-20, 0.0])
    assert library.ulp(fp9.encode(values, "hif8"), "hif8").tolist() == [1.0, 32.0, 2.0**14, 2.0**-20, 2.0**-22]
    assert np.isnan(library.ulp([0x80, 0x6F], "hif8")).all()


def test_classes_of_codes() -> None:
    hif8 = library.classify([0x80, 0xEF, 0xC0, 0x81, 0x00, 0x07, 0x7E, 0x6F], "hif8")
    names = "NAN NEGATIVE_INFINITY NEGATIVE_NORMAL NEGATIVE_SUBNORMAL POSITIVE_ZERO POSITIVE_SUBNORMAL"
    assert [Class(c).name for c in hif8] == [*names.split(), "POSITIVE_NORMAL", "POSITIVE_INFINITY"]
    assert library.classify([0x80, 0x01], "e4m3").tolist() == [Class.NEGATIVE_ZERO, Class.POSITIVE_SUBNORMAL]
