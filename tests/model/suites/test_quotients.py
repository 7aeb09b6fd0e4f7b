"""Corner suites of quantisers with a scale of the whole array: each suite hits its cover points."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import fp9
from fp9.golden import evaluate
from fp9.scaling import BLOCK_FORMATS
from fp9.suites.corner import corner
from fp9.units import CATALOGUE, TENSOR_SCALE, Quantiser

NVFP4 = CATALOGUE["quantiser_nvfp4"]
assert isinstance(NVFP4, Quantiser)
UNITS = [NVFP4, replace(NVFP4, name="every_rule", rules=BLOCK_FORMATS["nvfp4"].rules)]


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_numbers_stand_off_the_middles_by_every_power_of_two_that_the_scales_can_say(unit: Quantiser) -> None:
    """Above and below, a hundred times each: from half a place of the source on, down to the last one of the array's
    scale. What a circuit's wrong carry makes of a limit shows at one of them alone."""
    columns = corner(unit, np.random.default_rng(0))
    scale = fp9.decode(evaluate(unit, columns)["scale"], unit.block.scale).astype(float)
    with np.errstate(invalid="ignore"):  # a NaN that signals
        tensor = fp9.decode(columns["tensor"], TENSOR_SCALE).astype(float)
    elements = unit.block.element.table[: unit.block.element.max_code + 1].astype(float)
    middles = np.multiply.outer((elements[:-1] + elements[1:]) / 2, scale * tensor)
    off: Counter[float] = Counter()
    for lane in unit.lane_names("x"):
        x = np.abs(fp9.decode(columns[lane], unit.source).astype(float))
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = (x - middles) / x
        usable = np.isfinite(apart) & (apart != 0)
        off.update((np.sign(apart[usable]) * -np.floor(np.log2(np.abs(apart[usable])))).tolist())
    powers = range(unit.source.precision + 1, TENSOR_SCALE.precision)
    assert min(off[sign * power] for sign in (-1, 1) for power in powers) >= 100


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_blocks_of_zeros_meet_every_rule(unit: Quantiser) -> None:
    columns = corner(unit, np.random.default_rng(0))
    zero = np.all([columns[lane] & unit.source.magnitude_mask == 0 for lane in unit.lane_names("x")], axis=0)
    positive = (columns["tensor"] > 0) & (columns["tensor"] <= TENSOR_SCALE.max_code)
    assert {*columns["rule"][zero & positive].tolist()} >= {*range(len(unit.rules))}


def test_the_last_place_of_the_arrays_scale_decides_between_tries() -> None:
    """In a thousand blocks and more, whose first try has the same scale on both sides: whatever a circuit's sums of
    errors lose shows there."""
    (unit,) = (unit for unit in UNITS if any(rule.tries for rule in unit.rules))
    columns = corner(unit, np.random.default_rng(0))
    tries = columns["rule"] >= [bool(rule.tries) for rule in unit.rules].index(True)
    columns = {name: column[tries] for name, column in columns.items()}
    usable = (columns["tensor"] > 0) & (columns["tensor"] < TENSOR_SCALE.max_code)
    here, behind = columns, columns | {"tensor": columns["tensor"] + usable}
    results = [evaluate(unit, side) for side in (here, behind)]
    first = [evaluate(unit, side | {"rule": np.zeros_like(side["rule"])}) for side in (here, behind)]
    chosen, alone = ([scales["scale"] for scales in pair] for pair in (results, first))
    assert ((chosen[0] != chosen[1]) & (alone[0] == alone[1])).sum() >= 1000
