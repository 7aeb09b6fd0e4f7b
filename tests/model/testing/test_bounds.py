"""Bounds hold for every order tried, are reached, and refuse what they do not cover."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import fp9
from fp9.testing import assert_within_bound, error_bound

sys.path.insert(0, str(Path(__file__).parent))
import orders


@pytest.mark.parametrize("engine", orders.ENGINES)
def test_no_order_exceeds_the_bound(engine: str) -> None:
    rng = np.random.default_rng(sum(engine.encode()))
    for depth in (5, 33):
        for trial in orders.trials(rng, engine, depth, 32, 5):
            assert (trial.error <= trial.bound).all(), (trial.kind, depth)


@pytest.mark.parametrize(("engine", "share"), [("hopper", 0.5), ("exact", 0.9), ("arm_fdot4", 0.9), ("deepseek", 0.5)])
def test_an_order_comes_near_the_bound(engine: str, share: float) -> None:
    rng, worst = np.random.default_rng(7), 0.0
    for depth in (2, 3, 5, 9, 33):
        for trial in orders.trials(rng, engine, depth, 32, 6):
            with np.errstate(invalid="ignore", divide="ignore"):
                worst = max(worst, float(np.nan_to_num(trial.error / trial.bound).max()))
    assert share < worst <= 1


def test_sums_of_few_bits_have_no_error() -> None:
    a = fp9.array(np.ones((2, 40)), "e4m3")
    assert (error_bound(a, a.T, "fma_fp32") == 0).all()
    assert (error_bound(a, a.T, "hopper(window=3)") > 0).all()


def test_overflow_and_specials_have_no_bound() -> None:
    a = fp9.array([[448.0] * 4, [1.0] * 4, [np.nan] * 4], "e4m3")
    bound = error_bound(a, fp9.array([[448.0]] * 4, "e4m3"), "fma_fp16")
    assert np.isinf(bound[:, 0]).tolist() == [True, False, True]


def test_a_narrower_accumulator_is_found() -> None:
    rng = np.random.default_rng(3)
    a, b = (fp9.array(np.abs(rng.normal(size=shape)) + 0.5, "e4m3") for shape in ((8, 512), (512, 8)))
    actual = fp9.matmul(a, b, engine="hopper")
    assert_within_bound(actual, a, b, "hopper")
    with pytest.raises(AssertionError, match=r"of 64 results are outside the bound of fma_fp32"):
        assert_within_bound(actual, a, b, "fma_fp32")


def test_scale_and_output_widen_the_bound() -> None:
    rng = np.random.default_rng(4)
    a, b = (fp9.array(rng.normal(size=shape), "e4m3") for shape in ((8, 64), (64, 8)))
    numbers = np.float32(fp9.decode(fp9.matmul(a, b, engine="hopper").codes, "e8m13", scale=0))
    kernel = fp9.decode(fp9.encode(numbers * np.float32(0.3), "bf16", "rtz"), "bf16")
    assert_within_bound(kernel, a, b, "hopper", scale=float(np.float32(0.3)), output="bf16")
    with pytest.raises(AssertionError, match="outside the bound"):
        assert_within_bound(kernel, a, b, "hopper", scale=float(np.float32(0.3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": "random"}, "order='random' given; give 'any' or 'k'"),
        ({"engine": "blackwell_nvfp4"}, "groups of products"),
        ({"b": np.zeros((3, 1), np.uint8)}, r"shapes \(1, 2\) and \(3, 1\) given"),
    ],
)
def test_refusals_name_what_is_accepted(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"a": np.zeros((1, 2), np.uint8), "b": np.zeros((2, 1), np.uint8), "engine": "hopper"}
    with pytest.raises(ValueError, match=message):
        error_bound(**(given | {"format_a": "e4m3", "format_b": "e4m3"} | change))  # type: ignore[arg-type]


def test_arrays_with_scales_are_refused() -> None:
    a = fp9.quantise(np.ones((2, 32), np.float32), "mxfp8_e4m3")
    with pytest.raises(ValueError, match="a with scales given"):
        error_bound(a, np.zeros((32, 1), np.uint8), "blackwell", format_b="e4m3")
