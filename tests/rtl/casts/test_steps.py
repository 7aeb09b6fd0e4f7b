"""Options of the cast component against the golden model: stochastic rounding, scale, lanes and the running amax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rtl.compared import assert_equal
from tests.support.rosters import (
    CAST_SOURCES,
    CIRCUIT_TARGETS,
    DETERMINISTIC,
    by_source,
    roundings_of,
    thinned,
    together,
)

from fp9.formats import Format, Rounding, format
from fp9.suites import inputs_of
from fp9.units import Cast

Columns = dict[str, NDArray[Any]]
Simulate = Callable[..., Columns]

GROUPS = by_source(fmt for fmt in CIRCUIT_TARGETS if fmt.precision > 1)
FEW = CIRCUIT_TARGETS[:4]


def _names(value: Format | tuple[Format, ...]) -> str:
    return " ".join(str(fmt) for fmt in value) if isinstance(value, tuple) else str(value)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("targets", "source", "random_bits"), together(GROUPS.values(), CAST_SOURCES, [1, 8, 20], times=2), ids=_names
)
def test_stochastic_rounding_of_any_source(
    targets: tuple[Format, ...], source: Format, random_bits: int, simulate: Simulate
) -> None:
    roundings = (Rounding.SR, *roundings_of(source))
    unit = Cast("cast", source, targets, roundings, random_bits=random_bits)
    inputs = inputs_of(unit, "random", 200, seed=random_bits)
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.parametrize(("targets", "source"), together(GROUPS.values(), CAST_SOURCES), ids=_names)
def test_any_scale_of_any_source(targets: tuple[Format, ...], source: Format, simulate: Simulate) -> None:
    """Half of the operands subnormal or nearly so."""
    unit = Cast("cast", source, targets, DETERMINISTIC, scale=True)
    inputs = inputs_of(unit, "random", 600, seed=4)
    small = inputs["x"] & ((1 << (source.bits * 3 // 4)) - 1)
    inputs["x"] = np.where(np.arange(600) % 2, small, inputs["x"])
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.slow
@pytest.mark.parametrize("stages", thinned(range(1, 7)))
def test_amax_belongs_to_the_result_beside_it_under_stalls(stages: int, simulate: Simulate) -> None:
    unit = Cast("cast", format("bf16"), FEW[:2], (Rounding.RNE,), amax=True, lanes=2, stages=stages)
    inputs = inputs_of(unit, "random", 120, seed=stages)
    inputs["amax_clear"] = (np.arange(120) % 13 == 5).astype(np.uint8)
    for stalls in (0.0, 0.5):
        assert_equal(unit, inputs, simulate(unit, inputs, stalls=stalls, seed=stages))


def test_amax_leaves_out_what_is_not_finite(simulate: Simulate) -> None:
    unit = Cast("cast", format("fp16"), FEW[:1], (Rounding.RNE,), amax=True, stages=1)
    x = np.array([0x8001, 0x7C00, 0xFBFF, 0x7E00, 0xFC00, 0x3C00, 0x0000], dtype=np.uint32)
    clear = np.array([0, 0, 0, 0, 0, 1, 0], dtype=np.uint32)
    inputs = {"x": x, "overflow": np.zeros_like(x), "amax_clear": clear}
    got = simulate(unit, inputs)
    assert got["amax"].tolist() == [0x0001, 0x0001, 0x7BFF, 0x7BFF, 0x7BFF, 0x3C00, 0x3C00]
    assert_equal(unit, inputs, got)


def test_lanes_without_stages_are_independent(simulate: Simulate) -> None:
    unit = Cast("cast", format("fp16"), FEW, (Rounding.RNE, Rounding.SR), lanes=3)
    inputs = inputs_of(unit, "random", 200, seed=6)
    assert_equal(unit, inputs, simulate(unit, inputs))
