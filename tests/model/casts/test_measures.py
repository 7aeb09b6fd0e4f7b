"""Limits of formats, casts there and back, scales by the largest magnitude, and what a cast loses."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.rosters import EVERY_FORMAT

import fp9
from fp9.formats import ALIASES

FIELDS = ("bits", "max", "eps", "smallest_normal", "smallest_subnormal", "tiny", "nmant", "minexp", "maxexp")
WITH_FINFO = sorted(name for name in ALIASES if hasattr(ml_dtypes, name) or name in ("float16", "float32"))


@pytest.mark.parametrize("name", WITH_FINFO)
def test_limits_are_those_that_ml_dtypes_gives(name: str) -> None:
    theirs, ours = ml_dtypes.finfo(getattr(ml_dtypes, name, name)), fp9.finfo(name)
    for field in FIELDS:
        assert float(getattr(ours, field)) == float(getattr(theirs, field)), field
    if ours.signed:
        assert ours.min == float(theirs.min)


def test_limits_are_found_by_name_format_dtype_and_array() -> None:
    found = fp9.finfo("e4m3")
    array = fp9.array([1.0], "e4m3")
    assert all(fp9.finfo(by) == found for by in (array.format, ml_dtypes.float8_e4m3fn, array, array.view()))


@pytest.mark.parametrize("fmt", EVERY_FORMAT, ids=str)
def test_formats_are_listed_with_limits_in_order(fmt: fp9.Format) -> None:
    listed = fp9.finfo(fmt)
    assert 0 < listed.smallest_subnormal <= listed.tiny <= listed.max
    assert fmt.name in {known.name for known in fp9.formats()} or "=" in fmt.name


@given(st.lists(st.floats(-(2.0**60), 2.0**60, width=32), min_size=1, max_size=8), st.sampled_from(("e4m3", "hif8")))
def test_the_amax_scale_is_the_least_that_fits(numbers: list[float], name: str) -> None:
    top, scale = fp9.format(name).max, int(fp9.amax_scale(numbers, name))
    amax = max(map(abs, numbers))
    assert math.ldexp(amax, -scale) <= top
    assert amax == 0 or math.ldexp(amax, 1 - scale) > top


def test_scales_along_an_axis_fit_each_row() -> None:
    x = np.random.default_rng(1).normal(size=(3, 5, 64)) * 2.0 ** np.arange(15).reshape(3, 5, 1)
    whole, rows = fp9.amax_scale(x, "e4m3"), fp9.amax_scale(x, "e4m3", axis=-1)
    assert whole.shape == () and rows.shape == (3, 5, 1)
    assert fp9.sqnr(x, fp9.fake_quantise(x, "e4m3", scale=rows)) > fp9.sqnr(x, fp9.fake_quantise(x, "e4m3"))
    x[0, 0] = 0.0
    assert fp9.amax_scale(x, "e4m3", axis=-1)[0, 0] == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_there_and_back_keeps_dtype_and_shape(dtype: type) -> None:
    x = np.linspace(-3, 3, 12).reshape(3, 4).astype(dtype)
    back = fp9.fake_quantise(x, "e5m2")
    assert back.dtype == x.dtype and back.shape == x.shape
    assert np.array_equal(back, x.astype(ml_dtypes.float8_e5m2).astype(dtype))
    assert fp9.fake_quantise([1, 3], "e4m3").dtype == np.float32


def test_noise_is_measured_in_decibels() -> None:
    assert fp9.sqnr([1.0, 2.0], [1.0, 2.0]) == np.inf
    assert fp9.sqnr([[3.0], [1.0]], [[3.3], [1.0]], axis=1).tolist() == [pytest.approx(20.0), np.inf]
    with pytest.raises(ValueError, match="give two of one shape"):
        fp9.sqnr([1.0], [1.0, 2.0])
