"""Arrays that know their format, and what fp9 takes from them."""

from __future__ import annotations

import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest
from tests.support.rosters import EVERY_FORMAT

import fp9
from fp9.formats import ALIASES

EIGHT_BIT = [fmt for fmt in EVERY_FORMAT if fmt.bits <= 8]
THEIRS = sorted(name for name in ALIASES if name.startswith("float") and hasattr(ml_dtypes, name))


@pytest.mark.parametrize("fmt", EIGHT_BIT, ids=str)
def test_numpy_sees_the_numbers_of_every_code(fmt: fp9.Format) -> None:
    codes = np.arange(1 << fmt.bits, dtype=fmt.dtype)
    held = fp9.Array(codes, fmt)
    assert held.codes is codes and held.shape == codes.shape
    assert np.array_equal(np.asarray(held, np.float64), fmt.table, equal_nan=True)
    assert np.array_equal(np.abs(held), np.abs(fmt.table), equal_nan=True)
    assert np.array_equal(held == held, fmt.table == fmt.table)
    assert np.array_equal(fp9.decode(held), fp9.decode(codes, fmt), equal_nan=True)


def test_an_array_is_printed_as_what_makes_it_again() -> None:
    x = fp9.array([[0.3, -1.7], [16.0, 1e9]], "hif8")
    assert repr(x) == "Array([[0.3125, -1.75],\n       [16.0, 32768.0]], hif8)"
    assert x.tolist() == [[0.3125, -1.75], [16.0, 32768.0]]
    assert repr(x.T[0]) == "Array([0.3125, 16.0], hif8)"
    again = pickle.loads(pickle.dumps(x))
    assert again.format == x.format and np.array_equal(again.codes, x.codes)


def test_parts_keep_the_format_and_share_the_codes() -> None:
    x = fp9.array(np.arange(6.0).reshape(2, 3), "e4m3")
    assert x.mT.shape == (3, 2) and x.reshape(3, 2).format == x.format and len(list(x)) == 2
    x[0, 1] = 448.0
    assert x.codes[0, 1] == 0x7E and float(x[0, 1]) == 448.0
    assert np.shares_memory(x.mT.codes, x.codes)
    assert np.concatenate([x, x]).shape == (4, 3)


@pytest.mark.parametrize("name", THEIRS)
def test_arrays_of_ml_dtypes_bring_their_format(name: str) -> None:
    fmt = fp9.format(name)
    codes = np.arange(1 << fmt.bits, dtype=fmt.dtype)
    theirs = codes.view(getattr(ml_dtypes, name))
    assert np.array_equal(fp9.decode(theirs), theirs.astype(np.float64), equal_nan=True)
    held = fp9.Array(theirs)
    assert held.format == fmt and held.view("ml_dtypes").dtype == theirs.dtype
    if fmt.signed:
        cast = fp9.encode(theirs, "bf16", overflow="inf")
        assert np.array_equal(fp9.decode(cast, "bf16"), theirs.astype(np.float32), equal_nan=True)


def test_products_take_the_format_of_their_operands() -> None:
    a, b = fp9.array([[1.5, 2.0]], "e4m3"), fp9.array([[2.0], [0.25]], "e5m2")
    plain = fp9.matmul(a.codes, b.codes, "e4m3", "e5m2", engine="hopper")
    assert np.array_equal(fp9.matmul(a, b, engine="hopper").codes, plain)
    theirs = a.view("ml_dtypes"), b.view("ml_dtypes")
    assert np.array_equal(fp9.matmul(*theirs, engine="hopper"), plain)
    assert np.array_equal(fp9.matmul(fp9.operand(theirs[0]), fp9.operand(b), engine="hopper"), plain)
    with pytest.raises(ValueError, match="an array of e4m3 given as codes of e5m2"):
        fp9.matmul(a, b, "e5m2", "e5m2")
    with pytest.raises(TypeError, match="give format_a, or an array that has one"):
        fp9.matmul(a.codes, b)
    with pytest.raises(TypeError, match="give fmt, or an array that has one"):
        fp9.decode(a.codes)


def test_an_addend_of_another_format_is_refused_and_a_plain_one_is_not_taken_silently() -> None:
    """0x3C00 is 1.0 in FP16, 0.5 in DLFloat16 (e6m9, bias 31): the codes alone do not tell."""
    a = fp9.array([[1.0]], "e4m3")
    half = fp9.array([[1.0]], "fp16")
    with pytest.raises(ValueError, match="an array of fp16 given as codes of dlfloat16"):
        fp9.matmul(a, a, engine="dlfloat", c=half)
    with pytest.raises(ValueError, match="format_c fp16 given, and the engine adds dlfloat16"):
        fp9.matmul(a, a, engine="dlfloat", c=half.codes, format_c="fp16")
    with pytest.raises(TypeError, match="uint16 given as codes of fp32"):
        fp9.matmul(a, a, c=half.codes)
    with pytest.warns(UserWarning, match="they are taken as dlfloat16: give format_c='dlfloat16'"):
        fp9.matmul(a, a, engine="dlfloat", c=half.codes)
    right = half.astype("dlfloat16")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in (
            fp9.matmul(a, a, engine="dlfloat", c=right),
            fp9.matmul(a, a, engine="dlfloat", c=right.codes, format_c="dlfloat16"),
        ):
            assert fp9.decode(found, "dlfloat16").item() == 2.0


def test_results_go_where_they_are_asked_to() -> None:
    a = fp9.array([[1.0, 2.0]], "e4m3")
    room = np.empty((1, 1), np.uint32)
    assert fp9.matmul(a, a.T, out=room) is room and fp9.decode(room, "fp32").item() == 5.0
    one = np.empty(1, np.uint32)
    codes, flags = fp9.dot(a, a, out=one, flags=True)
    assert codes is one and flags.tolist() == [0] and fp9.decode(one, "fp32").item() == 5.0
    with pytest.raises(ValueError, match="give a contiguous array of uint32, shape \\(1, 1\\)"):
        fp9.matmul(a, a.T, out=np.empty((1, 1), np.uint16))


@pytest.mark.parametrize("scale", [-9, 0, 5])
def test_one_scale_means_the_same_in_casts_and_products(scale: int) -> None:
    """OCP MX section 6.2: what a code stands for times 2**scale is the number."""
    x = np.float32([[1.0, -3.0, 0.5]]) * 2.0**scale
    codes = fp9.encode(x, "e4m3", scale=scale)
    assert np.array_equal(fp9.decode(codes, "e4m3", scale=scale), x)
    total = fp9.matmul(codes, codes.T, "e4m3", "e4m3", scale_a=scale, scale_b=scale)
    assert fp9.decode(total, "fp32").item() == (x.astype(np.float64) ** 2).sum()
    e8m0 = fp9.encode([2.0**scale], "e8m0")[0]
    coded = fp9.matmul(codes, codes.T, "e4m3", "e4m3", scale_a=e8m0, scale_b=e8m0, scale_format="e8m0")
    assert np.array_equal(coded, total)
