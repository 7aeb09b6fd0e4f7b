"""Scales of blocks: every bfloat16 amax under every rule, and what happens at the ends."""

from __future__ import annotations

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from tests.support.rosters import thinned

from fp9.blocks import BLOCK_FORMATS, RULES, BlockFormat, block_format, quantise, tensor_scale
from fp9.oracle import block_scales as oracle

SINGLE = [(block, rule) for block in BLOCK_FORMATS.values() for rule in block.rules if not RULES[rule].tries]
"""Every format with every rule that takes one scale for the block's amax alone."""

AMAXES = np.arange(0x7F80, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
"""Zero and every positive finite number of bfloat16."""


def ids(pair: object) -> str:
    return str(pair)


def test_every_rule_is_taken_by_a_format_and_has_a_source() -> None:
    assert set(itertools.chain(*(block.rules for block in BLOCK_FORMATS.values()))) == RULES.keys()
    assert all(rule.source for rule in RULES.values()) and all(block.source for block in BLOCK_FORMATS.values())


@pytest.mark.every(4)
@pytest.mark.parametrize(("block", "rule"), thinned(SINGLE), ids=ids)
def test_every_bfloat16_amax_gives_the_scale_of_the_oracle(block: BlockFormat, rule: str) -> None:
    _, scales = quantise(AMAXES[:, np.newaxis], block, rule=rule)
    own = scales[:, 0] & 0xFF if block.levels else scales[:, 0]
    expected = [oracle.scale_code(Fraction(float(amax)), block, rule) for amax in AMAXES]
    assert own.tolist() == expected


PRINTED = [
    # block, rule, amax, exponent of the scale: from the rules' sources
    ("mxfp8_e4m3", "floor", 449.0, 0),  # OCP: floor(log2(amax)) - 8, so that 449 saturates
    ("mxfp8_e4m3", "rceil", 448.0, 0),  # cuBLAS: the smallest power of two with amax / scale <= 448
    ("mxfp8_e4m3", "rceil", 449.0, 1),
    ("mxfp8_e4m3", "ceil", 256.0, 0),  # torchao CEIL: 2^ceil(log2(amax)) / 2^8
    ("mxfp8_e4m3", "ceil", 257.0, 1),
    ("mxfp8_e4m3", "even", 496.0, 1),  # torchao EVEN: 496 rounds up to 512 in 4 bits
    ("mxfp8_e4m3", "even", 495.0, 0),
    ("mxfp4", "even", 7.0, 1),
    ("mxfp4", "floor", 7.0, 0),
    ("mxfp8_e4m3", "rne", 448.0 * 1.5, 1),  # a tie of 1 and 2 goes to the even code, that of 2
]


@pytest.mark.parametrize(("name", "rule", "amax", "exponent"), PRINTED)
def test_scales_are_those_of_the_sources(name: str, rule: str, amax: float, exponent: int) -> None:
    assert quantise(np.float32([amax]), name, rule=rule).scales.tolist() == [127 + exponent]


@pytest.mark.parametrize(("block", "rule"), SINGLE, ids=ids)
def test_a_block_with_an_infinity_or_nan_has_the_scale_nan_and_zeros(block: BlockFormat, rule: str) -> None:
    x = np.ones((4, block.length), dtype=np.float32)
    x[0, 3], x[1, 5], x[2, 7] = np.nan, np.inf, -np.inf
    elements, scales = quantise(x, block, rule=rule)
    assert scales[:3].ravel().tolist() == [block.scale.nan_code(False)] * 3 and scales[3] != scales[0]
    assert not elements[:3].any() and elements[3].all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("block", list(BLOCK_FORMATS.values()), ids=str)
def test_a_nan_that_signals_is_a_nan_like_others(block: BlockFormat) -> None:
    """A warning came of it where numbers go to float64."""
    x, quiet = np.ones((2, block.length), dtype=np.float32), np.ones((2, block.length), dtype=np.float32)
    x.view(np.uint32)[0, 3], quiet[0, 3] = 0x7F800001, np.nan
    found, expected = quantise(x, block), quantise(quiet, block)
    assert np.array_equal(found.scales, expected.scales) and np.array_equal(found.elements, expected.elements)


@pytest.mark.parametrize(("block", "rule"), SINGLE, ids=ids)
def test_a_block_of_zeros_has_the_smallest_scale_and_keeps_signs(block: BlockFormat, rule: str) -> None:
    x = np.zeros((1, block.length), dtype=np.float32)
    x[0, 1] = -0.0
    elements, scales = quantise(x, block, rule=rule)
    assert scales.tolist() == [[0]]
    minus = block.element.code_of(Fraction(0), True)
    assert elements[0, :3].tolist() == [0, minus, 0]


@pytest.mark.parametrize("block", [block for block in BLOCK_FORMATS.values() if block.powers_of_two], ids=str)
def test_scales_stay_within_e8m0_at_both_ends(block: BlockFormat) -> None:
    """A rule asks for 2^128 of mxint8 at the end of FP32, and for 2^-157 at its beginning."""
    x = np.float32([[np.finfo(np.float32).max], [2.0**-149], [2.0**-126]])
    for rule in block.rules:
        scales = quantise(x, block, rule=rule).scales
        assert scales[0] >= 127 + 126 - 15 and scales[0] <= 254 and scales[1] == 0
    top = quantise(x[:1], "mxint8", rule="ceil")
    assert (top.scales.item(), top.elements.item()) == (254, 127)


def test_nvfp4_scales_underflow_to_zero_and_saturate() -> None:
    """Below half of 2^-9 * 6 the scale is 0 and so are the elements; above 448 * 6 both saturate."""
    elements, scales = quantise(np.float32([[2.0**-10 * 6, -1e-5], [1e6, -1e4]]), "nvfp4")
    assert (scales.ravel().tolist(), elements.tolist()) == ([0, 126], [[0, 8], [7, 15]])


def test_the_scale_of_an_array_brings_its_amax_to_the_largest_block_scale() -> None:
    """Arrays with NaN and infinities take their largest finite number; NVFP4's divisor is 6 * 448, 4over6's 6 * 256."""
    x = np.float32([[1.0, -30.0, np.nan], [np.inf, 2.0, 3.0]])
    assert tensor_scale(x) == np.float32(30 / (6 * 448))
    assert tensor_scale(x, rule="4over6") == np.float32(30 / (6 * 256))
    assert tensor_scale(np.zeros(4, np.float32)) == 1.0
    assert tensor_scale(np.float32([1e-40])) == np.finfo(np.float32).tiny
    level = tensor_scale(x[0, :2])
    assert quantise(x[0, :2], "nvfp4", tensor_scale=level).scales.tolist() == [0x7E]
    with pytest.raises(ValueError, match="no scale of the whole array"):
        tensor_scale(x, "mxfp4")


def test_two_levels_round_the_quotient_by_the_exact_product_once() -> None:
    """The block's scale is nearest to amax / (6 t) for the FP32 number t, and an element to x / (s t): in fractions."""
    rng = np.random.default_rng(5)
    x = (rng.standard_normal((400, 16)) * np.exp2(rng.integers(-8, 3, (400, 1)))).astype(np.float32)
    t = tensor_scale(x)
    elements, scales = quantise(x, "nvfp4", tensor_scale=t)
    block, level = block_format("nvfp4"), Fraction(float(t))
    for row, codes, code in zip(x[::4], elements[::4], scales[::4, 0], strict=True):
        amax = max(abs(Fraction(float(number))) for number in row)
        assert code == oracle.nearest(amax / 6 / level, block.scale)
        scale = block.scale.value_of(int(code)) * level
        assert codes.tolist() == [oracle.element_code(Fraction(float(v)), scale, block.element) for v in row]
