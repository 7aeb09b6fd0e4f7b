"""Quantisers: streams, whole blocks, cover points of suites, and refusals; `test_reference` compares the results."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fp9.blocks import quantise, tensor_scale
from fp9.formats import fixed_format, format
from fp9.formats.blocks import block_format, scale_rule
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.suites.columns import Inputs
from fp9.units import Quantiser, Results
from fp9.vectors.sets import from_inputs


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
def test_a_stream_gives_what_the_whole_block_gives(lanes: int) -> None:
    whole = Quantiser("quantiser", format("fp32"), block_format("mxfp4"), (scale_rule("rne"), scale_rule("ceil")))
    stream = replace(whole, lanes=lanes, stages=1)
    inputs = inputs_of(whole, "random", 50, lanes)
    numbers = np.stack([inputs[x] for x in whole.lane_names("x")], axis=1).reshape(-1, lanes)
    operations = dict(zip(stream.lane_names("x"), numbers.T, strict=True))
    operations["rule"] = np.repeat(inputs["rule"], stream.group)
    operations["rule"][:: stream.group] ^= 1
    vectors, expected = from_inputs(stream, operations), evaluate(whole, inputs)
    elements = np.stack([expected[name] for name in whole.lane_names("element")], axis=1).reshape(-1, lanes)
    assert np.array_equal(vectors.expected["scale"], np.repeat(expected["scale"], stream.group))
    for lane, name in enumerate(stream.lane_names("element")):
        assert np.array_equal(vectors.expected[name], elements[:, lane])
    with pytest.raises(ValueError, match="give whole blocks"):
        from_inputs(stream, {name: column[1:] for name, column in operations.items()})


def test_blocks_with_a_scale_of_the_array_are_those_of_quantise() -> None:
    """Blocks that share one, all at once; NVFP4's rules, `4over6` among them."""
    block = block_format("nvfp4")
    x = np.random.default_rng(4).standard_normal((200, block.length)).astype(np.float32)
    for rule in map(block.rule, block.rules):
        whole = tensor_scale(x, rule=rule.name)
        unit = Quantiser("quantiser", format("fp32"), block, (rule,))
        inputs = dict(zip(unit.lane_names("x"), x.view(np.uint32).T, strict=True))
        results = evaluate(unit, inputs | {"tensor": np.full(len(x), whole).view(np.uint32)})
        elements, scales = quantise(x, block, rule=rule.name, tensor_scale=whole)
        assert np.array_equal(results["scale"], scales[:, 0])
        assert np.array_equal(np.stack([results[name] for name in unit.lane_names("element")], axis=1), elements)


@pytest.mark.parametrize("code", [0, 1, 0x007FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001, 0xBF800000, 0x80000000])
def test_a_scale_of_the_array_that_is_no_positive_normal_number_makes_the_block_nan(code: int) -> None:
    block = replace(block_format("nvfp4"), length=2)
    unit = Quantiser("quantiser", "bf16", block, tuple(map(block.rule, block.rules)))
    one = np.full(3, 0x3F80, dtype=np.uint32)
    results = evaluate(unit, {"x0": one, "x1": one, "tensor": one * 0 + np.uint32(code), "rule": np.arange(3)})
    assert {name: set(column.tolist()) for name, column in results.items()} == {
        "scale": {0x7F},
        "element0": {0},
        "element1": {0},
    }


def test_the_corner_suite_meets_every_scale_of_nvfp4_and_both_tries() -> None:
    """At least a tenth of the blocks of `4over6` take each try, and ties of both are met."""
    block = replace(block_format("nvfp4"), length=4)
    unit = Quantiser("quantiser", "bf16", block, tuple(map(block.rule, block.rules)))
    inputs = inputs_of(unit, "corner", None, 0)
    tried, first = evaluate(unit, inputs), evaluate(unit, inputs | {"rule": np.zeros_like(inputs["rule"])})
    assert set(tried["scale"].tolist()) == set(range(128))
    by_tries = inputs["rule"] >= block.rules.index("4over6")
    second = (tried["scale"] != first["scale"])[by_tries]
    assert 0.1 < second.mean() < 0.9


def test_suites_meet_every_rule_and_both_ends_of_the_scales() -> None:
    """The largest amax of bfloat16 is rounded up to 2^128 by `ceil`, and 4 is the power of two of e2m1: 2^126."""
    block = replace(block_format("mxfp4"), length=2)
    unit = Quantiser("quantiser", "bf16", block, tuple(map(block.rule, block.rules)))
    for suite, count in (("corner", None), ("random", 2000)):
        inputs = inputs_of(unit, suite, count, 3)
        found = set(evaluate(unit, inputs)["scale"].tolist())
        assert set(inputs["rule"].tolist()) >= set(range(len(unit.rules)))
        assert found >= {0, 1, 127, 251, 255}
        assert max(found - {255}) == 253 or suite == "random"


def _small_with_every_rule(suite: str) -> tuple[Quantiser, NDArray[np.int64], Inputs]:
    """A quantiser of four numbers under every rule, the magnitudes (n, 4) of a suite, and its columns."""
    block = replace(block_format("mxfp4"), length=4)
    unit = Quantiser("quantiser", "bf16", block, tuple(map(block.rule, block.rules)))
    inputs = inputs_of(unit, suite, None, 0)
    magnitudes = np.stack([inputs[x] for x in unit.lane_names("x")], axis=1).astype(np.int64)
    return unit, magnitudes & (unit.source.sign_mask - 1), inputs


def _without(unit: Quantiser, inputs: Inputs, place: int, bit: int) -> Results:
    """The results of operations whose number in a place has not that bit."""
    x = unit.lane_names("x")[place]
    return evaluate(unit, {**inputs, x: inputs[x] & ~np.uint32(1 << bit)})


@pytest.mark.parametrize("suite", ["smoke", "corner"])
def test_every_bit_of_amax_decides_the_scale_in_every_place(suite: str) -> None:
    """Both suites notice a bit that is lost anywhere in the tree of maxima."""
    unit, magnitudes, inputs = _small_with_every_rule(suite)
    scale = evaluate(unit, inputs)["scale"]
    for place, bit in itertools.product(range(4), range(unit.source.bits - 1)):
        alone = magnitudes[:, place] > np.delete(magnitudes, place, axis=1).max(axis=1)
        assert (alone & (_without(unit, inputs, place, bit)["scale"] != scale)).any(), (place, bit)


@pytest.mark.parametrize("suite", ["smoke", "corner"])
def test_every_bit_of_a_subnormal_number_decides_an_element_in_every_place(suite: str) -> None:
    """But for the two upper bits, above which stands the leading 1 of the largest that is halfway between elements."""
    unit, magnitudes, inputs = _small_with_every_rule(suite)
    right = evaluate(unit, inputs)
    for place, bit in itertools.product(range(4), range(unit.source.fraction_bits - 1)):
        subnormal = magnitudes[:, place] >> unit.source.fraction_bits == 0
        found, element = _without(unit, inputs, place, bit), unit.lane_names("element")[place]
        same = found["scale"] == right["scale"]
        assert (subnormal & same & (found[element] != right[element])).any(), (place, bit)


@pytest.mark.parametrize(("source", "block"), [("fp32", "mxfp8_e5m2"), ("bf16", "mxfp4"), ("fp32", "nvfp4")])
def test_smoke_is_as_long_whatever_the_source(source: str, block: str) -> None:
    unit = Quantiser("quantiser", fixed_format(source), block_format(block), (block_format(block).rule("rne"),))
    assert 800 <= len(inputs_of(unit, "smoke", None, 0)["x0"]) <= 960


def test_a_quantiser_says_what_it_does_not_take() -> None:
    with pytest.raises(ValueError, match="give a divisor of 32"):
        Quantiser("quantiser", format("fp32"), block_format("mxfp4"), (scale_rule("rne"),), 1, lanes=5)
    with pytest.raises(ValueError, match="1 to 6"):
        Quantiser("quantiser", format("fp32"), block_format("mxfp4"), (scale_rule("rne"),), 0, lanes=4)
    with pytest.raises(ValueError, match="rules=4over6 given beside lanes=4"):
        Quantiser("quantiser", format("fp32"), block_format("nvfp4"), (scale_rule("4over6"),), 1, lanes=4)
    for block, source, rules, said in (
        ("hif4", "fp32", ("hif4",), "give MX blocks, or nvfp4"),
        ("nvfp4", "fp16", ("rne",), "give fp32, bf16"),
        ("mxfp4", "fp16", ("rne",), "give fp32, bf16"),
        ("mxfp4", "dlfloat16", ("rne",), "give fp32, bf16"),
        ("mxfp4", "fp32", ("4over6",), "choose one of floor"),
        ("mxfp4", "fp32", (), "at least one"),
        ("mxfp4", "fp32", ("rne", "rne"), "once"),
        ("mxfp5", "fp32", ("rne",), "unknown block format"),
    ):
        with pytest.raises(ValueError, match=said):
            Quantiser("quantiser", source, block, rules)  # type: ignore[arg-type]
