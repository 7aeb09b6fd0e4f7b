"""Answers made by hand, or by an altered spec, and the sentence that each is given."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fp9.engines import ENGINES
from fp9.formats import Rounding, format
from fp9.formats.rounding import Flags, Overflow
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import Cast, Fma, Unit
from fp9.vectors.sets import from_inputs
from fp9_compare.diagnosis import Explanation, explain

CAST = Cast("cast", format("fp32"), (format("e4m3"), format("e5m2")), (Rounding.RNE,), (Overflow.SATURATE,))
FMA = Fma("fma", (format("e4m3"),), (format("e5m2"),), ENGINES["fma_fp16"])

Change = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


def explained(unit: Unit, change: Change) -> Explanation:
    """The first explanation of answers that `change` makes from the inputs and the model's results."""
    vectors = from_inputs(unit, inputs_of(unit, "smoke", None, 0))
    answers = change(dict(vectors.inputs), dict(vectors.expected))
    return explain(vectors, answers).explanations[0]


@pytest.mark.slow
def test_rounding_over_float16_is_double_rounding() -> None:
    def via_float16(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            halves = inputs["x"].view(np.float32).astype(np.float16).astype(np.float32)
        changed = evaluate(CAST, {**inputs, "x": halves.view(np.uint32)})
        return {**golden, "result": np.where(np.isinf(halves), golden["result"], changed["result"])}

    found = explained(CAST, via_float16)
    assert found.says.startswith("double rounding: it rounds to fp16 first")
    assert not found.contradicts


@pytest.mark.slow
def test_a_rounded_product_is_double_rounding() -> None:
    def in_two_steps(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        a = format("e4m3").table[inputs["a"]].astype(np.float32)
        b = format("e5m2").table[inputs["b"]].astype(np.float32)
        with np.errstate(all="ignore"):
            total = (a * b).astype(np.float16) + inputs["c"].view(np.float16)
        return {**golden, "result": np.where(np.isnan(total), format("fp16").nan_code(False), total.view(np.uint16))}

    found = explained(FMA, in_two_steps)
    assert found.says == "double rounding: it rounds the product to fp16 before it adds"
    assert not found.contradicts


def test_truncation_is_named() -> None:
    truncating = dataclasses.replace(CAST, roundings=(Rounding.RTZ,))
    found = explained(CAST, lambda inputs, golden: evaluate(truncating, inputs))
    assert "toward zero" in found.says
    assert not found.contradicts


def test_subnormal_operands_read_as_zero_are_named() -> None:
    def read_as_zero(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        fields = {"a": (0x78, 0x80), "b": (0x7C, 0x80), "c": (0x7C00, 0x8000)}
        flushed = {
            name: np.where(inputs[name] & exponent, inputs[name], inputs[name] & sign).astype(inputs[name].dtype)
            for name, (exponent, sign) in fields.items()
        }
        return evaluate(FMA, flushed)

    assert explained(FMA, read_as_zero).says == "it reads subnormal operands as zero"


def test_flushed_results_are_named() -> None:
    def flushed(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        codes, exponent = golden["result"], np.where(inputs["target"] == 0, 0x78, 0x7C)
        return {**golden, "result": np.where(codes & exponent, codes, codes & 0x80).astype(np.uint8)}

    assert explained(CAST, flushed).says == "it flushes subnormal results to zero"


def test_another_nan_is_named() -> None:
    def quiet(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        codes = golden["result"]
        nan = (inputs["target"] == 1) & (codes & 0x7F == 0x7F)
        return {**golden, "result": np.where(nan, codes - 1, codes)}

    assert explained(CAST, quiet).says == "its NaN in e5m2 is 0x7e, not 0x7f"


def test_flags_that_differ_alone_are_named() -> None:
    def without_underflow(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        return {**golden, "flags": golden["flags"] & ~np.uint8(Flags.UNDERFLOW)}

    assert explained(CAST, without_underflow).says == "flags: it does not raise underflow ever"
