"""Multiply-adds, dot products and accumulators with operands of 16 bits and TF32, alone and beside 8-bit ones."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from tests.units.checks import CIRCUITS, check_unit

import fp9
from fp9.units import Unit
from fp9.units.toml import build

WIDE = ("fp16", "bf16", "dlfloat16")

SHAPES = (("fma", "fma_fp32", 0), ("fma", "dlfloat", 0), ("dot", "hopper(G=2)", 1), ("mac", "blackwell(G=2)", 2))


def unit(kind: str, a: tuple[str, ...], b: tuple[str, ...], engine: str, stages: int = 0) -> Unit:
    return build({"kind": kind, "name": "wide_unit", "a": [*a], "b": [*b], "engine": engine, "stages": stages})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fmt", "shape"),
    [*itertools.product(WIDE, SHAPES), ("tf32", SHAPES[0]), ("tf32", ("mac", "hopper_mma(G=2,L=4)", 3))],
    ids=str,
)
def test_wide_operands_pass_every_check(fmt: str, shape: tuple[str, str, int]) -> None:
    """Golden model, reference model, C model and Verilog agree on both simulators; the other operand is mixed."""
    kind, engine, stages = shape
    check_unit(unit(kind, (fmt,), (fmt, "hif8"), engine, stages), 1, CIRCUITS)


@pytest.mark.slow
@pytest.mark.parametrize("narrow", ["int8(bias=0)", "e2m1", "e5m2"])
def test_narrow_operands_share_a_port_with_wide_ones(narrow: str) -> None:
    check_unit(unit("fma", (narrow, "fp16"), ("bf16", narrow), "fma_fp32"), 1, CIRCUITS)


@pytest.mark.parametrize(("fmt", "dtype"), [("fp16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_golden_model_rounds_the_exact_sum_once(fmt: str, dtype: type) -> None:
    """A product of 16-bit numbers and FP32 are exact in float64 where their sum needs at most 53 bits."""
    rng = np.random.default_rng(7)
    a, b = (rng.normal(size=4000).astype(dtype) for _ in range(2))
    c = (a.astype(np.float64) * b.astype(np.float64) * rng.choice([0.5, -1, 3, 64], 4000)).astype(np.float32)
    expected = (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)
    inputs = {"a": a.view(np.uint16), "b": b.view(np.uint16), "c": c.view(np.uint32)}
    result = fp9.golden.evaluate(unit("fma", (fmt,), (fmt,), "fma_fp32"), inputs)["result"]
    assert np.array_equal(result, expected.view(np.uint32))
