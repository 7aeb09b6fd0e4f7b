"""Corner suites of quantisers with a scale of the whole array: each suite hits its cover points."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import fp9
from fp9.formats.blocks import BLOCK_FORMATS
from fp9.golden import evaluate
from fp9.suites.corner import corner
from fp9.units import CATALOGUE, TENSOR_SCALE, Quantiser

NVFP4 = CATALOGUE["quantiser_nvfp4"]
assert isinstance(NVFP4, Quantiser)
UNITS = [NVFP4, replace(NVFP4, name="every_rule", rules=BLOCK_FORMATS["nvfp4"].rules)]
WIDE = replace(NVFP4, name="of_fp32", source=fp9.format("fp32"))


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


@pytest.mark.parametrize("unit", [*UNITS, WIDE], ids=lambda unit: unit.name)
def test_every_dropped_bit_decides_alone_among_the_sources_subnormals(unit: Quantiser) -> None:
    """A middle times both scales is 2^-bit quanta above a number, whose tie would go up: the element stays below."""
    columns = corner(unit, np.random.default_rng(0))
    results = evaluate(unit, columns)
    scale = fp9.decode(results["scale"], unit.block.scale).astype(float)
    usable = (scale > 0) & (columns["tensor"] > 0) & (columns["tensor"] <= TENSOR_SCALE.max_code)
    quantum = 2.0 ** unit.source.quantum(unit.source.min_normal_exponent)
    elements = unit.block.element.table[: unit.block.element.max_code + 1].astype(float)
    steps = scale[usable] * fp9.decode(columns["tensor"][usable], TENSOR_SCALE).astype(float) / quantum
    found: Counter[tuple[int, int, int]] = Counter()
    for place, lane in enumerate(unit.lane_names("x")):
        x = columns[lane][usable] & unit.source.magnitude_mask
        element = results[f"element{place}"][usable] & unit.block.element.magnitude_mask
        below = (element % 2 == 1) & (element < unit.block.element.max_code)
        element = element[below]
        middle = (elements[element] + elements[element + 1]) / 2 * steps[below]
        dropped, binade = np.frexp(middle - x[below]), np.frexp(middle)[1]
        alone = (dropped[0] == 1 / 2) & (dropped[1] <= 0) & (binade < unit.source.precision)
        found.update(
            zip(element[alone].tolist(), binade[alone].tolist(), (1 - dropped[1][alone]).tolist(), strict=True)
        )
    odd = {1: 3, 3: 7, 5: 7}  # middles 0.75, 1.75, 3.5
    cases = [
        (code, binade, bit)
        for code, binade in itertools.product(odd, range(max(2, unit.source.precision - 7), unit.source.precision))
        for bit in range(1, unit.source.precision + 1 - binade)
        if any(integer % odd[code] == 0 for integer in _odd_integers(binade, bit))
    ]
    assert len(cases) >= 48
    assert not [case for case in cases if found[case] < 3]


def _odd_integers(binade: int, bit: int) -> range:
    """Integers of so many digits before the point and after it, whose last digit is the only 1 after it."""
    return range((1 << binade + bit - 1) + 1, 1 << binade + bit, 1 << bit)
