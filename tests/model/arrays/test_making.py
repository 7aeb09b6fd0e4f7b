"""Numbers to arrays: one rounding from every type, scales per tensor, row, column and block, random rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fp9
from fp9.blocks import BLOCK_FORMATS
from fp9.formats import pow2
from fp9.oracle import block_scales as oracle

RULED = [(name, rule) for name, block in BLOCK_FORMATS.items() for rule in block.rules if rule != "4over6"]


def near_middles(name: str, rule: str) -> np.ndarray:
    """Blocks of float64 numbers: middles of elements times scales, those next to them in float64, and random ones."""
    block, rng = BLOCK_FORMATS[name], np.random.default_rng(7)
    values = np.array([float(block.element.value_of(int(c))) for c in block.element.ordered_magnitudes()])
    middles = (values[1:] + values[:-1]) / 2
    rows = []
    for _ in range(40):
        scale = float(rng.integers(8, 16)) * 2.0 ** int(rng.integers(-4, 4))
        if block.powers_of_two:
            scale = 2.0 ** int(rng.integers(-20, 20))
        picked = rng.choice(middles, block.length) * scale * rng.choice([-1.0, 1.0], block.length)
        moved = np.nextafter(picked, rng.choice([-np.inf, 0.0, np.inf], block.length))
        row = np.where(rng.random(block.length) < 0.7, moved, rng.standard_normal(block.length) * scale)
        row[0] = np.nextafter(float(block.divisor(block.rule(rule))) * scale, rng.choice([0.0, np.inf]))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize(("name", "rule"), RULED)
def test_float64_numbers_are_rounded_once(name: str, rule: str) -> None:
    block, x = BLOCK_FORMATS[name], near_middles(name, rule)
    assert not np.array_equal(x, x.astype(np.float32))
    held = fp9.quantise(x, name, rule=rule)
    for row, elements, scales in zip(x.tolist(), held.codes.tolist(), held.scales.tolist(), strict=True):
        exact = [Fraction(number) for number in row]
        if block.levels:
            codes, scale, eights, fours = oracle.hif4_codes(exact)
            bits = sum(bit << i for i, bit in enumerate([*eights, *fours]))
            assert scales == [scale | bits << 8]
            magnitudes = [code & 7 for code in codes]
            assert [code & 7 for code in elements] == magnitudes
            continue
        scale = oracle.scale_code(max(map(abs, exact)), block, rule)
        assert scales == [scale]
        factor = pow2(scale - 127) if block.powers_of_two else block.scale.value_of(scale)
        assert elements == [oracle.element_code(number, factor, block.element) for number in exact]


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_the_type_of_numbers_does_not_matter(name: str) -> None:
    x = (np.random.default_rng(1).integers(-9, 9, (3, 70)) / 4).astype(np.float64)
    wanted = fp9.quantise(x.astype(np.float32), name)
    for dtype in (np.float64, np.float16, ml_dtypes.bfloat16):
        found = fp9.quantise(x.astype(dtype), name)
        assert np.array_equal(found.codes, wanted.codes) and np.array_equal(found.scales, wanted.scales)
    integers = (x * 4).astype(np.int64)
    assert np.array_equal(fp9.quantise(integers, name).codes, fp9.quantise(integers.astype(np.float32), name).codes)
    held = fp9.array(x, "fp16")
    assert np.array_equal(fp9.quantise(held, name).codes, wanted.codes)
    assert fp9.quantise([[1 << 62, 3]], name).shape == (1, 2)


@pytest.mark.parametrize("value", [1e300, -1e300, 1e-300, 5e-324, np.inf, np.nan])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4", "nvfp4", "mxint8"])
def test_float64_beyond_the_range_of_scales(value: float, name: str) -> None:
    held = fp9.quantise([value] + [0.0] * 15, name)
    largest = BLOCK_FORMATS[name].element.max * BLOCK_FORMATS[name].scale.max
    if not np.isfinite(value):
        assert np.isnan(held.numbers()).all()
    elif abs(value) > 1:
        assert held.numbers()[0] == np.copysign(largest, value)
    else:
        assert not held.numbers().any()


def test_a_last_block_may_be_shorter_and_has_a_scale_of_its_own() -> None:
    x = np.random.default_rng(2).standard_normal((5, 37, 2))
    held = fp9.quantise(x, "nvfp4", axis=1)
    assert held.scales.shape == (5, 3, 2) and held.shape == x.shape
    last = fp9.quantise(x[:, 32:], "nvfp4", axis=1)
    assert np.array_equal(held.numbers()[:, 32:], last.numbers())


@pytest.mark.parametrize("fmt", ["e4m3", "hif8", "e5m2fnuz", "hfp8_143(bias=2)", "e2m1"])
def test_scales_per_tensor_row_column_and_block_are_the_least_that_fit(fmt: str) -> None:
    x = np.random.default_rng(3).standard_normal((6, 96)) * np.exp2(np.arange(6))[:, None] * 1e4
    largest = fp9.format(fmt).max
    for per, axis, shape in (("tensor", None, ()), ("row", 1, (6, 1)), ("column", 0, (1, 96))):
        held = fp9.quantise(x, fmt, per=per)
        assert held.scales is not None and held.scales.shape == shape
        amax = np.abs(x).max(axis=axis, keepdims=axis is not None)
        assert (amax <= largest * np.exp2(held.scales)).all() and (amax > largest * np.exp2(held.scales - 1.0)).all()
        assert np.array_equal(held.codes, fp9.encode(x, fmt, scale=held.scales))
        assert np.array_equal(held.numbers(), fp9.decode(held.codes, fmt, scale=held.scales))
    blocks = fp9.quantise(x, fmt, per=32)
    rows = fp9.quantise(x.reshape(-1, 32), fmt, per="row")
    assert np.array_equal(blocks.numbers().reshape(-1, 32), rows.numbers())
    assert np.array_equal(blocks.scales.reshape(-1, 1), rows.scales + 127)


@pytest.mark.parametrize("name", ["e4m3", "hif8", *BLOCK_FORMATS])
def test_fake_quantise_is_there_and_back(name: str) -> None:
    x = np.random.default_rng(4).standard_normal((3, 70)).astype(np.float32)
    found = fp9.fake_quantize(x, name)
    wanted = fp9.quantise(x, name).numbers() if name in BLOCK_FORMATS else fp9.decode(fp9.encode(x, name), name)
    assert found.dtype == np.float32 and np.array_equal(found, wanted.astype(np.float32))
    assert np.array_equal(fp9.fake_quantise(x, name, per=None), found)
    per = {} if name in BLOCK_FORMATS else {"per": "row"}
    assert np.array_equal(fp9.fake_quantise(x, name, **per), fp9.quantise(x, name, **per).numbers().astype(np.float32))


RANDOM: dict[str, Any] = {
    "encode": lambda x, **r: fp9.encode(x, "e4m3", "stochastic", **r),
    "cast": lambda x, **r: fp9.cast(fp9.encode(x, "fp32"), "fp32", "e4m3", "sr", **r),
    "array": lambda x, **r: fp9.array(x, "e4m3", rounding="sr", **r).codes,
    "astype": lambda x, **r: fp9.array(x, "fp16").astype("e4m3", rounding="sr", **r).codes,
    "fake_quantise": lambda x, **r: fp9.fake_quantise(x, "e4m3", rounding="sr", **r),
    "quantise": lambda x, **r: fp9.quantise(x, "nvfp4", rounding="sr", **r).codes,
    "per row": lambda x, **r: fp9.quantise(x, "e4m3", per="row", rounding="sr", **r).codes,
    "amd_sr": lambda x, **r: fp9.encode(x, "e4m3", "sr", stochastic="amd_sr", **r),
    "nvidia_rs": lambda x, **r: fp9.encode(x, "e4m3", "sr", stochastic="nvidia_rs", **r),
    "matmul": lambda x, **r: fp9.matmul(fp9.array(x, "e4m3"), fp9.array(x, "e5m2").T, engine=SR, **r).codes,
}
SR = "fma_fp16(rounding=sr)"


@pytest.mark.parametrize("call", RANDOM)
def test_a_seed_gives_the_same_bits_whatever_the_threads(call: str) -> None:
    x, of = np.random.default_rng(5).standard_normal((32, 64)), RANDOM[call]
    first = of(x, rng=42)
    assert np.array_equal(of(x, rng=42), first) and np.array_equal(of(x, rng=np.int64(42)), first)
    assert np.array_equal(of(x, rng=np.random.default_rng(42)), first) and not np.array_equal(of(x, rng=43), first)
    for threads in (1, 2):
        assert np.array_equal(of(x, rng=42, **({} if call == "astype" else {"threads": threads})), first)
    generator = np.random.default_rng(42)
    assert np.array_equal(of(x, rng=generator), first) and not np.array_equal(of(x, rng=generator), first)


@pytest.mark.parametrize("call", RANDOM)
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ValueError, "needs random bits; give rng"),
        ({"rng": -1}, ValueError, "rng=-1 given"),
        ({"rng": "42"}, TypeError, "rng of type str given"),
        ({"rng": True}, TypeError, "rng of type bool given"),
        ({"rng": 1, "random_bits": [1]}, ValueError, "random_bits and rng given"),
        ({"random_bits": np.random.default_rng(1)}, TypeError, "give it as rng"),
    ],
)
def test_random_bits_come_from_a_seed_a_generator_or_an_array(call: str, options: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        RANDOM[call](np.ones((4, 16)), **options)


def test_rng_without_a_random_rounding_is_refused() -> None:
    for call in (
        lambda: fp9.encode([1.0], "e4m3", rng=1),
        lambda: fp9.quantise([1.0], "mxfp4", rng=1),
        lambda: fp9.matmul(np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.uint8), "e4m3", "e4m3", rng=1),
    ):
        with pytest.raises(ValueError, match="rng given"):
            call()


def test_the_mean_of_stochastic_rounding_is_the_number() -> None:
    x = np.full(1 << 16, 1 + 0.125 * 0.3, dtype=np.float32)
    assert abs((fp9.encode(x, "e4m3", "stochastic", rng=5) == 0x39).mean() - 0.3) < 0.01


def test_dequantise_takes_an_array_or_codes() -> None:
    x = fp9.quantise(np.random.default_rng(6).standard_normal((2, 40)), "mxfp6_e2m3")
    assert np.array_equal(fp9.dequantize(x), fp9.dequantise(x.codes, x.scales, "mxfp6_e2m3"))
    with pytest.raises(TypeError, match="without scales and block"):
        fp9.dequantise(x.codes)
