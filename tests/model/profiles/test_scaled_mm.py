"""Kinds of scales, epilogues, splits and refusals of scaled products."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fp9
from fp9.engines.about import about
from fp9.profiles import PROFILES, epilogues, sums
from fp9.profiles.catalogue import SPLITS

RNG = np.random.default_rng(45)
A, B = (
    fp9.Array(RNG.normal(size=shape).astype(ml_dtypes.float8_e4m3fn).view(np.uint8), "e4m3")
    for shape in ((4, 300), (300, 6))
)
ROWS = np.float32(RNG.uniform(0.5, 2, (4, 1))), np.float32(RNG.uniform(0.5, 2, (1, 6)))


def _f32(x: Any) -> Any:
    return np.asarray(x, np.float64).astype(np.float32)


def test_a_fused_multiply_add_rounds_once() -> None:
    x, y, z = (np.float32(RNG.normal(size=4000) * 2.0 ** RNG.integers(-30, 30, 4000)) for _ in range(3))
    z[:2000] = -x[:2000] * y[:2000]
    got = epilogues.fused(x, y, z)
    for i in range(4000):
        exact = Fraction(float(x[i])) * Fraction(float(y[i])) + Fraction(float(z[i]))
        near = np.float32(float(exact))  # checked against both neighbours, as float rounds a first time
        rivals = [np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf)), near]
        best = min(abs(Fraction(float(r)) - exact) for r in rivals)
        assert abs(Fraction(float(got[i])) - exact) == best


def test_a_product_that_rounds_to_zero_keeps_its_sign_and_a_product_by_zero_is_positive() -> None:
    tiny = np.float32(2.0**-100)
    found = epilogues.product(np.float32([-tiny, tiny, -1, 0]), np.float32([tiny, tiny, 0, -1]))
    assert found.tolist() == [0, 0, 0, 0] and np.signbit(found).tolist() == [True, False, False, False]


def test_rows_multiply_one_scale_after_the_other_and_add_the_bias() -> None:
    acc, bias = sums(A, B, True, profile="h100", split_k=1), np.float32(RNG.normal(size=6))
    for order, (first, second) in {"ab": ROWS, "ba": ROWS[::-1]}.items():
        got = fp9.scaled_mm(A, B, *ROWS, bias, None, "fp32", True, profile="h100", scale_order=order)
        want = _f32(_f32(_f32(acc.astype(float) * first) * second.astype(float)) + bias.astype(float))
        assert (got.codes.view(np.float32) == want).all()


def test_slow_accumulation_promotes_128_products() -> None:
    got = sums(A, B, False, profile="h100", split_k=1)
    want = np.float32(0)
    for first in (0, 128, 256):
        want = _f32(want + sums(A[:, first : first + 128], B[first : first + 128], True, profile="h100", split_k=1))
    assert (got == want).all()


def test_deepgemm_scales_each_chunk() -> None:
    a, b = np.float32(RNG.uniform(0.5, 2, (4, 3))), np.float32(RNG.uniform(0.5, 2, (3, 1)))
    got = fp9.scaled_mm(A, B, a, b, None, None, "fp32", profile="deepgemm")
    columns = fp9.scaled_mm(A, B, a, np.repeat(b, 6, 1), None, None, "fp32", profile="deepgemm")
    total = np.zeros((4, 6), np.float32)
    for i, first in enumerate((0, 128, 256)):
        part = sums(A[:, first : first + 128], B[first : first + 128], True, profile="h100", split_k=1)
        total = epilogues.fused(part, epilogues.product(a[:, i, None], b[i]), total)
    assert (got.codes.view(np.float32) == total).all()
    assert (columns.codes == got.codes).all()


def test_blocks_on_an_h200_multiply_the_scale_of_a_first_for_columns_of_b() -> None:
    a, b = np.float32(RNG.uniform(0.5, 2, (4, 3))), np.float32(RNG.uniform(0.5, 2, (3, 6)))
    square = fp9.scaled_mm(A, B, a, b[:, :1], None, None, "fp32", profile="h200")
    columns = fp9.scaled_mm(A, B, a, b, None, None, "fp32", profile="h200")
    totals = np.zeros((2, 4, 6), np.float32)
    for i, first in enumerate((0, 128, 256)):
        part = sums(A[:, first : first + 128], B[first : first + 128], True, profile="h200", split_k=1)
        left = a[:, i, None]
        totals[0] = epilogues.fused(part, epilogues.product(left, b[i, :1]), totals[0])
        totals[1] = epilogues.fused(epilogues.product(part, left), b[i], totals[1])
    assert (square.codes.view(np.float32) == totals[0]).all()
    assert (columns.codes.view(np.float32) == totals[1]).all()
    with pytest.raises(ValueError, match="use_fast_accum=True given with scales of kind 1x128"):
        fp9.scaled_mm(A, B, a, b, None, None, "fp32", True, profile="h200")


def test_bias_on_an_h200_is_added_in_fp32_and_the_scale_of_the_result_is_ignored() -> None:
    scales = np.float32(0.3), np.float32(1.7)
    bias = np.asarray(fp9.decode(fp9.encode(RNG.normal(size=6) * 8, "bf16"), "bf16"))
    acc = sums(A, B, True, profile="h200", split_k=1).astype(float)
    scaled = _f32(acc * _f32(scales[0].astype(float) * scales[1]).astype(float))
    want = fp9.encode(_f32(scaled.astype(float) + bias), "bf16")
    got = fp9.scaled_mm(A, B, *scales, bias, None, "bf16", True, profile="h200", split_k=1)
    assert (got.codes == want).all()
    narrow = [fp9.scaled_mm(A, B, *scales, None, s, "e4m3", True, profile="h200", split_k=1) for s in (None, 0.37)]
    assert (narrow[0].codes == narrow[1].codes).all()


@pytest.mark.parametrize(("block", "engine"), [("mxfp8_e4m3", "blackwell"), ("nvfp4", "blackwell_nvfp4")])
def test_block_scales_are_those_of_the_instruction(block: str, engine: str) -> None:
    a = fp9.quantise(np.float32(RNG.normal(size=(4, 64))), block)
    b = fp9.quantise(np.float32(RNG.normal(size=(64, 4))), block, axis=-2)
    element, scale = a.format.element, a.format.scale
    codes, scales = ([fp9.Array(each, fmt) for each in pair] for pair, fmt in (
        ((a.codes, b.codes), element), ((a.scales, b.scales), scale),
    ))  # fmt: skip
    got = fp9.scaled_mm(*codes, *scales, None, None, "fp32", True, profile="b200", split_k=1)
    want = fp9.matmul(
        a.codes, b.codes, element, element, engine, scale_a=a.scales, scale_b=b.scales, block=a.format.length,
        scale_format=scale.name,
    )  # fmt: skip
    assert (got.codes == want).all()


def test_splits_cover_k_once() -> None:
    for split in SPLITS.values():
        for depth, parts in ((64, 3), (1000, 7), (129, 2)):
            found = np.concatenate(split.parts(depth, parts))
            assert sorted(found.tolist()) == list(range(depth))


def test_narrow_results_saturate_and_nan_is_the_gpus() -> None:
    a, b = fp9.array([[448.0], [np.nan]], "e4m3"), fp9.array([[448.0]], "e4m3")
    call = {"profile": "h100", "split_k": 1, "use_fast_accum": True}
    assert fp9.scaled_mm(a, b, 1.0, 1.0, **call).codes.tolist() == [[0x7E], [0x7F]]
    assert fp9.scaled_mm(a, b, 1.0, 1.0, None, 2.0**-10, **call).tolist()[0] == [192.0]
    assert fp9.scaled_mm(a, b, 1.0, 1.0, out_dtype="bf16", **call).codes.tolist()[1] == [0x7FFF]
    assert fp9.scaled_mm(a, b, 1e30, 1e30, out_dtype="fp16", **call).codes.tolist()[0] == [0x7C00]


def test_the_nan_code_of_the_devices_is_that_of_the_profiles() -> None:
    nan = fp9.array([[np.nan]], "e4m3")
    found = fp9.scaled_mm(nan, nan, 1.0, 1.0, out_dtype="fp32", use_fast_accum=True, profile="h100", split_k=1)
    hopper = about("hopper")
    assert (hopper.nan, hopper.nan_on_devices) == ("0x7FC00000", f"0x{found.codes.item():08X}")
    assert (about("ada_fp16").nan, about("ada_fp16").nan_on_devices) == ("0x7E00", "0x7FFF")
    assert about("cdna3").nan_on_devices is about("deepseek").nan_on_devices is None


REFUSED: dict[str, dict[str, Any]] = {
    "split_k not given; cuBLASLt": {"profile": "h100"},
    "nobody has measured how the bias is rounded on NVIDIA H100": {"split_k": 1, "bias": np.zeros(6, np.float32)},
    "nobody has measured how use_fast_accum=False promotes sums on NVIDIA L40S": {"profile": "l40s", "split_k": 1},
    "nobody has measured how split sums are divided and added on NVIDIA B200": {"profile": "b200", "split_k": 2},
    "split=None given; profile rtx4060 splits K as serial or pairwise": {"profile": "rtx4060", "split_k": 2},
    "scale_order=None given; give ab or ba": {"scale_a": ROWS[0], "scale_b": ROWS[1]},
    "with scales of kind tensor": {"profile": "deepgemm"},
    "e4m3 x e4m3 to e5m2 given; cuBLASLt": {"split_k": 1, "out_dtype": "e5m2"},
    "out_dtype=hif8 given": {"split_k": 1, "out_dtype": "hif8"},
    r"scale_a and scale_b of shapes \(2,\) and \(\) given": {"split_k": 1, "scale_a": np.float32([1, 2])},
    "split_k=0 given": {"split_k": 0},
    "unknown profile 'h900'": {"profile": "h900"},
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_unknown_is_refused_by_name(sentence: str) -> None:
    given = {"a": A, "b": B, "scale_a": 1.0, "scale_b": 1.0, "out_dtype": "bf16", "profile": "h100"}
    with pytest.raises(ValueError, match=sentence):
        fp9.scaled_mm(**(given | REFUSED[sentence]))


def test_every_profile_states_its_source_and_computes_with_known_engines() -> None:
    for profile in PROFILES.values():
        assert profile.source and profile.device and profile.library
        for call in profile.calls:
            assert call.fast or call.slow
            assert call.fast is None or fp9.engine(call.fast)
            assert call.slow is None or fp9.engine(call.slow)
            assert all(split in SPLITS for split in call.splits)
