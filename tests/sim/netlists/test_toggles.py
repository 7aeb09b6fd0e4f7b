"""Zero-operand gating: the results stay, the toggles in front of the sum go."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from fp9.units import CATALOGUE, Dot, Unit
from fp9.vectors import sets as vectors
from fp9_rtl.sums.gating import holds
from fp9_sim import check
from fp9_sim.netlists.graphs.function import function
from fp9_sim.netlists.toggles import toggles


def with_zeros(unit: Unit, count: int) -> dict[str, NDArray[np.uint32]]:
    """Random operations, half of the 8-bit operands +0 or the code 0x80: NaN in some formats, -0 in others."""
    rng = np.random.default_rng(1)
    columns = dict(vectors.generate(unit, "random", count).inputs)
    for port in unit.inputs:
        if port.formats and port.width == 8:
            drawn = rng.integers(0, 2, len(columns[port.name])) * 0x80
            columns[port.name] = np.where(rng.random(len(drawn)) < 0.5, drawn, columns[port.name]).astype(np.uint32)
    return columns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stages", "held"),
    [("fma_fp32", 0, False), ("dot2_dlfloat16_hfp8", 2, True), ("mac_dlfloat16_gated", 3, True)],
)
def test_gated_units_keep_their_results(name: str, stages: int, held: bool) -> None:
    """The model knows nothing of gating; 0 x Inf and 0 x NaN are no zeros."""
    unit = dataclasses.replace(CATALOGUE[name], stages=stages, gate_zeros=True)  # type: ignore[type-var]
    assert isinstance(unit, Dot) and holds(unit) is held
    found, total = check(unit, with_zeros(unit, 20_000))
    assert not total, f"{total} mismatches, the first: {found[0]}"


@pytest.mark.slow
def test_factors_of_zero_products_move_nothing() -> None:
    """All products zero: the register behind the decoders and the multiplier stand still, but for signs and flags."""
    plain, gated = toggles(CATALOGUE["mac_dlfloat16_gated"], 1.0, count=2048)
    assert gated.by_submodule["pipeline.multiply"] < 1 < plain.by_submodule["pipeline.stage2"]
    assert gated.total < 0.6 * plain.total


@pytest.mark.slow
def test_gating_is_silent_without_zeros_to_gate() -> None:
    """Drawn operands are rarely zero by themselves: both netlists then move alike in the accumulator."""
    plain, gated = toggles(CATALOGUE["mac_dlfloat16_gated"], 0.0, count=2048)
    assert gated.by_submodule["accumulator"] == plain.by_submodule["accumulator"] > 0
    assert plain == toggles(CATALOGUE["mac_dlfloat16_gated"], 0.0, count=2048)[0]


def test_a_unit_without_products_is_refused() -> None:
    with pytest.raises(ValueError, match="cast_fp32: a cast has no zero-operand gating; give an fma, dot or mac"):
        toggles(CATALOGUE["cast_fp32"], 0.5)
    with pytest.raises(ValueError, match="share of zeros of 2 given; give 0 to 1"):
        toggles(CATALOGUE["fma_fp32"], 2)


def test_held_factors_are_no_function_of_the_ports() -> None:
    """What stands in the register is left there by an operation before: proofs of values do not look at that."""
    unit = dataclasses.replace(CATALOGUE["dot2_dlfloat16_hfp8"], stages=2, gate_zeros=True)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="dot2_dlfloat16_hfp8: gate_zeros holds factors, so results depend"):
        function(unit, "")
