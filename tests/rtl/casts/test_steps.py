"""Options of the cast component against the golden model: stochastic rounding, scale, lanes and the running amax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fp9.formats import Rounding, format
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import Cast

Columns = dict[str, NDArray[Any]]
Simulate = Callable[..., Columns]

TARGETS = tuple(format(name) for name in ("e4m3", "e5m2fnuz", "hif8", "hfp8_143"))
SOURCES = ("fp32", "fp16", "bf16", "dlfloat16")


def hold(unit: Cast, inputs: Columns, got: Columns) -> None:
    """Every result is the golden one."""
    for name, values in evaluate(unit, inputs).items():
        wrong = np.flatnonzero(values != got[name])
        assert not wrong.size, {k: hex(c[wrong[0]]) for k, c in {**inputs, "got": got[name], "want": values}.items()}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("random_bits", [1, 8, 20])
def test_stochastic_rounding_of_any_source(source: str, random_bits: int, simulate: Simulate) -> None:
    hybrid = () if source == "dlfloat16" else (Rounding.HYBRID,)
    unit = Cast("cast", format(source), TARGETS, (Rounding.SR, Rounding.RNE, *hybrid), random_bits=random_bits)
    inputs = inputs_of(unit, "random", 300, seed=random_bits)
    hold(unit, inputs, simulate(unit, inputs))


@pytest.mark.parametrize("source", SOURCES)
def test_any_scale_of_any_source(source: str, simulate: Simulate) -> None:
    """Half of the operands subnormal or nearly so."""
    fmt = format(source)
    unit = Cast("cast", fmt, TARGETS, (Rounding.RNA, Rounding.RTZ, Rounding.RUP), scale=True)
    inputs = inputs_of(unit, "random", 600, seed=4)
    small = inputs["x"] & ((1 << (fmt.bits * 3 // 4)) - 1)
    inputs["x"] = np.where(np.arange(600) % 2, small, inputs["x"])
    hold(unit, inputs, simulate(unit, inputs))


@pytest.mark.parametrize("stages", range(1, 7))
def test_amax_belongs_to_the_result_beside_it_under_stalls(stages: int, simulate: Simulate) -> None:
    unit = Cast("cast", format("bf16"), TARGETS[:2], (Rounding.RNE,), amax=True, lanes=2, stages=stages)
    inputs = inputs_of(unit, "random", 120, seed=stages)
    inputs["amax_clear"] = (np.arange(120) % 13 == 5).astype(np.uint8)
    for stalls in (0.0, 0.5):
        hold(unit, inputs, simulate(unit, inputs, stalls=stalls, seed=stages))


def test_amax_leaves_out_what_is_not_finite(simulate: Simulate) -> None:
    unit = Cast("cast", format("fp16"), TARGETS[:1], (Rounding.RNE,), amax=True, stages=1)
    x = np.array([0x8001, 0x7C00, 0xFBFF, 0x7E00, 0xFC00, 0x3C00, 0x0000], dtype=np.uint32)
    clear = np.array([0, 0, 0, 0, 0, 1, 0], dtype=np.uint32)
    inputs = {"x": x, "overflow": np.zeros_like(x), "amax_clear": clear}
    got = simulate(unit, inputs)
    assert got["amax"].tolist() == [0x0001, 0x0001, 0x7BFF, 0x7BFF, 0x7BFF, 0x3C00, 0x3C00]
    hold(unit, inputs, got)


def test_lanes_without_stages_are_independent(simulate: Simulate) -> None:
    unit = Cast("cast", format("fp16"), TARGETS, (Rounding.RNE, Rounding.SR), lanes=3)
    inputs = inputs_of(unit, "random", 200, seed=6)
    hold(unit, inputs, simulate(unit, inputs))
