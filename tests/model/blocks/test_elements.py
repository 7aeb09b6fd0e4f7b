"""Elements of blocks against other packages and fractions, the two routes against each other, layouts and errors."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.formats.test_formats import OUTSIDE_TABLES

import fp9
from fp9.blocks import BLOCK_FORMATS, BlockFormat, arrays, block_format, dequantise, quantise, tensor_scale
from fp9.formats import floor_log2
from fp9.oracle import block_scales as oracle

FLOATS = [block for block in BLOCK_FORMATS.values() if block.powers_of_two and block.element.name in OUTSIDE_TABLES]
ALL = list(BLOCK_FORMATS.values())
FP16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("block", FLOATS, ids=str)
def test_elements_of_every_fp16_number_at_every_scale_are_ml_dtypes(block: BlockFormat) -> None:
    """A block of an anchor, which fixes the scale by the rule `floor`, and 31 numbers that do not exceed it."""
    dtype, largest = OUTSIDE_TABLES[block.element.name], np.float32(block.element.max)
    finite = FP16[np.isfinite(FP16)]
    for exponent in range(-42, 26):
        anchor = np.float32(2.0 ** (exponent + floor_log2(block.element.max_magnitude)))
        numbers = finite[np.abs(finite) < 2 * anchor]
        x = np.zeros((-(-numbers.size // 31), 32), dtype=np.float32)
        filled = np.zeros(x[:, 1:].size, dtype=np.float32)
        filled[: numbers.size] = numbers
        x[:, 0], x[:, 1:] = anchor, filled.reshape(-1, 31)
        elements, scales = quantise(x, block, rule="floor", threads=1)
        assert np.all(scales == 127 + exponent)
        theirs = np.clip(x * np.float32(2.0**-exponent), -largest, largest).astype(dtype).view(np.uint8)
        assert np.array_equal(elements, theirs & ((1 << block.element.bits) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nvfp4", "mxint8", "mxfp4"])
def test_elements_are_the_nearest_in_fractions(name: str) -> None:
    rng = np.random.default_rng(3)
    block = block_format(name)
    x = (rng.integers(-64, 65, (60, block.length)) * np.exp2(rng.integers(-12, 4, (60, 1)))).astype(np.float32)
    elements, scales = quantise(x, block)
    for row, codes, code in zip(x, elements, scales[:, 0], strict=True):
        scale = block.scale.value_of(int(code))
        if scale:
            assert codes.tolist() == [oracle.element_code(Fraction(float(v)), scale, block.element) for v in row]


def test_hif4_is_what_its_authors_publish() -> None:
    rng = np.random.default_rng(4)
    x = (rng.standard_t(3, (80, 64)) * np.exp2(rng.integers(-60, 20, (80, 1)))).astype(np.float32)
    elements, scales = quantise(x, "hif4")
    for row, codes, word in zip(x, elements, scales[:, 0], strict=True):
        expected, code, eights, fours = oracle.hif4_codes([Fraction(float(v)) for v in row])
        assert codes.tolist() == expected
        assert int(word) == code | sum(b << 8 + i for i, b in enumerate(eights)) | sum(
            b << 16 + i for i, b in enumerate(fours)
        )
        scale = fp9.format("e6m2").value_of(code)
        quarters = [(c & 7) * (-1 if c & 8 else 1) for c in expected]
        values = [q * scale * 2 ** (eights[i // 8] + fours[i // 4]) / 4 for i, q in enumerate(quarters)]
        assert dequantise(codes, np.array([word]), "hif4").tolist() == [float(v) for v in values]


def test_4over6_takes_the_scale_with_the_smaller_squared_error() -> None:
    """arXiv 2512.02010: the block's scale brings amax to 6 or to 4; errors in fractions, a tie stays with 6."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((120, 16)).astype(np.float32)
    x[:3] = np.float32([4.0, 6.0, 0.0])[:, np.newaxis]
    level, block = tensor_scale(x, rule="4over6"), block_format("nvfp4")
    elements, scales = quantise(x, "nvfp4", rule="4over6", tensor_scale=level)
    t, fours = Fraction(float(level)), 0
    for row, codes, code in zip(x, elements, scales[:, 0], strict=True):
        values = [Fraction(float(v)) / t for v in row]
        expected = oracle.four_over_six(values, block)
        fours += expected[0] != oracle.scale_code(max(map(abs, values)), block, "rne")
        assert (int(code), codes.tolist()) == expected
    assert 20 < fours < 100


@st.composite
def arrays_of_blocks(draw: Any) -> tuple[np.ndarray, str, str, int, bool]:
    """Arrays of all sizes of numbers, formats, rules and layouts."""
    block = draw(st.sampled_from(ALL))
    rule = draw(st.sampled_from([rule for rule in block.rules if rule != "4over6"]))
    shape = tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=3)))
    square = len(shape) > 1 and not block.levels and draw(st.booleans())
    axis = -1 if square else draw(st.integers(-len(shape), len(shape) - 1))
    seed = draw(st.integers(0, 1 << 32))
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-150, 127) + rng.integers(-6, 1, shape))
    kinds = rng.choice([0.0, -0.0, np.nan, np.inf, 1.0], shape)
    x = np.where(rng.random(shape) < 0.01, kinds, x)
    with np.errstate(over="ignore"):
        return x.astype(np.float32), block.name, rule, axis, square


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(arrays_of_blocks())
def test_kernels_and_casts_give_the_same_blocks(case: tuple[np.ndarray, str, str, int, bool]) -> None:
    x, name, rule, axis, square = case
    fast = quantise(x, name, axis, rule, square=square)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "fast_blocks", lambda *_: None)
        slow = quantise(x, name, axis, rule, square=square)
    assert np.array_equal(fast.elements, slow.elements) and np.array_equal(fast.scales, slow.scales)
    assert fast.elements.shape == x.shape and fast.scales.dtype == slow.scales.dtype


@pytest.mark.parametrize("rounding", ["rna", "rne"])
@pytest.mark.parametrize("block", [block for block in ALL if block.levels], ids=str)
def test_kernels_and_casts_set_the_same_level_bits(block: BlockFormat, rounding: str) -> None:
    """Multiples of an eighth meet every midpoint and every start of a level."""
    rng = np.random.default_rng(11)
    x = rng.integers(-32, 33, (4000, block.length)) * np.exp2(rng.integers(-60, 20, (4000, 1)) - 3.0)
    x[rng.random(x.shape) < 0.001], x[:3] = np.nan, np.float64([[0.0], [-0.0], [np.inf]])
    narrow = x.astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "by_casts", None)
        fast = quantise(narrow, block, rounding=rounding)
        patch.undo()
        patch.setattr(arrays, "fast_blocks", lambda *_: None)
        slow = quantise(narrow, block, rounding=rounding)
    assert np.array_equal(fast.elements, slow.elements) and np.array_equal(fast.scales, slow.scales)


def test_an_axis_a_short_last_block_and_squares_are_slices() -> None:
    """Each block is quantised as if it stood alone."""
    x = np.random.default_rng(8).standard_normal((37, 50)).astype(np.float32)
    elements, scales = quantise(x, "nvfp4", axis=0)
    assert scales.shape == (3, 50)
    for block in range(3):
        part = slice(16 * block, 16 * block + 16)
        alone = quantise(np.ascontiguousarray(x[part, 7]), "nvfp4")
        assert np.array_equal(elements[part, 7], alone.elements) and scales[block, 7] == alone.scales[0]
    elements, scales = quantise(x, "nvfp4", square=True)
    assert scales.shape == (3, 4)
    corner = x[32:, 48:]
    amax = Fraction(float(np.abs(corner).max()))
    assert scales[2, 3] == oracle.scale_code(amax, block_format("nvfp4"), "rne")
    scale = block_format("nvfp4").scale.value_of(int(scales[2, 3]))
    expected = [oracle.element_code(Fraction(float(v)), scale, fp9.format("e2m1")) for v in corner.ravel()]
    assert elements[32:, 48:].ravel().tolist() == expected
    assert dequantise(elements, scales, "nvfp4", square=True).shape == x.shape


@pytest.mark.parametrize("block", [block for block in ALL if not block.levels], ids=str)
def test_numbers_of_a_block_come_back(block: BlockFormat) -> None:
    """What blocks hold, they keep; not so HiF4, whose reciprocals are rounded."""
    rng = np.random.default_rng(9)
    x = rng.standard_normal((50, block.length)).astype(np.float32)
    once = dequantise(*quantise(x, block), block)
    twice = dequantise(*quantise(once.astype(np.float32), block), block)
    rows = np.abs(once).max(axis=1) == np.abs(twice).max(axis=1)
    assert rows.sum() > 25 and np.array_equal(once[rows], twice[rows])
    assert np.array_equal(dequantise(*quantise(x, block), block, dtype=np.float32), once)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4", "nvfp4", "hif4"])
def test_stochastic_elements_are_those_of_the_cast_of_the_quotient(name: str) -> None:
    """floor(x / scale + r 2^-16 ulp): bits of 0 round toward zero, the mean comes near the number."""
    block = block_format(name)
    x = np.abs(np.random.default_rng(10).standard_normal((3, 4 * block.length))).astype(np.float32)
    none = quantise(x, name, rounding="sr", random_bits=np.zeros(x.shape, dtype=np.uint16))
    toward_zero = quantise(x, name, rounding="rtz")
    assert np.array_equal(none.elements, toward_zero.elements) and np.array_equal(none.scales, toward_zero.scales)
    drawn = [
        dequantise(*quantise(x, name, rounding="sr", rng=np.random.default_rng(seed)), name) for seed in range(200)
    ]
    inside = np.abs(dequantise(*quantise(x, name, rounding="rup"), name)) >= x  # not saturated
    error = np.abs(np.mean(drawn, axis=0) - x)[inside]
    assert error.mean() < 0.03 * x.mean()


def test_bfloat16_and_numbers_that_float32_holds_are_taken() -> None:
    x = np.float32([[1.5, -3.0, 0.25]])
    expected = quantise(x, "mxfp4").elements.tolist()
    assert quantise(x.astype(ml_dtypes.bfloat16), "mxfp4").elements.tolist() == expected
    assert quantise([[1.5, -3.0, 0.25]], "mxfp4").elements.tolist() == expected
    assert quantise(np.empty((0, 32), np.float32), "mxfp4").scales.shape == (0, 1)


BAD = [
    (lambda: quantise([0.1], "nvfp4", rule="4over6"), "float32 does not hold"),
    (lambda: quantise([1.0], "mxfp5"), "choose one of mxfp8_e4m3|did you mean mxfp"),
    (lambda: quantise([1.0], "mxfp4", rule="4over6"), "choose one of floor"),
    (lambda: quantise(1.0, "mxfp4"), "one axis or more"),
    (lambda: quantise([1.0], "mxfp4", axis=1), "axis 1 given"),
    (lambda: quantise([1.0], "mxfp4", square=True), "two axes or more"),
    (lambda: quantise([[1.0]], "mxfp4", axis=0, square=True), "last two axes"),
    (lambda: quantise([[1.0]], "hif4", square=True), "along one axis"),
    (lambda: quantise([1.0], "mxfp4", tensor_scale=2.0), "nvfp4 takes one"),
    (lambda: quantise([1.0], "nvfp4", tensor_scale=-2.0), "positive normal number"),
    (lambda: quantise([1.0], "nvfp4", tensor_scale=[1.0, 2.0]), "tensor_scale of type list given"),
    (lambda: quantise([1.0], "nvfp4", tensor_scale="1"), "tensor_scale of type str given"),
    (lambda: quantise([1.0], "mxfp4", axis="x"), "axis of type str given"),
    (lambda: quantise([1.0], "mxfp4", rounding="sr"), "needs random bits"),
    (lambda: quantise([1.0], "mxfp4", rounding="hybrid"), "not defined"),
    (lambda: dequantise([1], [[1]], "mxfp4"), r"has \(1,\) of them"),
    (lambda: dequantise([1], [200], "nvfp4"), "7 bits"),
    (lambda: dequantise([16], [1], "nvfp4"), "4 bits"),
]


@pytest.mark.parametrize(("call", "words"), BAD)
def test_bad_input_gives_one_sentence(call: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()
