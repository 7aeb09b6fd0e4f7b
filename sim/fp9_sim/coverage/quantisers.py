"""Coverage of quantisers: of each block what amax and its scale are, of each element its case of rounding."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fp9.formats import Format, floor_log2, pow2
from fp9.scaling import ScaleRule
from fp9.units import Columns, Quantiser
from fp9_sim.coverage.casts import impossible_position
from fp9_sim.coverage.model import LAST_PLACES, POSITIONS, SIGNS, Cross, Facts, Group, Model, classes_of
from fp9_sim.coverage.values import Codes, Grid, lowest_place

_AMAX = ("zero", "subnormal", "normal", "special")
_SCALES = ("smallest", "above", "nan")
_SIDES = ("below", "equal", "above")
"""Where amax over the divisor stands beside the scale."""

_FINITE = ("zero", "subnormal", "smallest normal", "normal", "largest")
_BEYOND = 2
"""Binades that are told apart below the smallest element."""


def quantiser_model(unit: Quantiser) -> Model:
    """A group for blocks and one for their elements."""
    return Model((_blocks(unit), _elements(unit)), lambda inputs, outputs: _facts(unit, inputs, outputs))


def _blocks(unit: Quantiser) -> Group:
    rules = {rule.name: rule for rule in unit.rules}
    points = {"rule": tuple(rules), "amax": _AMAX, "scale": _SCALES, "side": _SIDES}
    crosses = (
        Cross("amaxes", ("rule", "amax")),
        Cross("scales", ("rule", "scale")),
        Cross("sides", ("rule", "side"), lambda rule, side: _impossible_side(rules[rule], side)),
    )
    return Group("block", points, crosses)


def _impossible_side(rule: ScaleRule, side: str) -> str | None:
    down = rule.rounding.moves_toward_zero(False)
    if side == "below" and down and not rule.amax_first:
        return "the rule rounds down"
    if side == "above" and not down and not rule.rounding.is_nearest:
        return "the rule rounds up"
    return None


def _binades(element: Format) -> tuple[int, int]:
    return lowest_place(element) - _BEYOND, floor_log2(element.max_magnitude)


def _elements(unit: Quantiser) -> Group:
    element = unit.block.element
    low, high = _binades(element)
    smallest = lowest_place(element)
    points = {
        "sign": SIGNS,
        "result": tuple(name for name in classes_of(element) if name in _FINITE),
        "binade": tuple(range(low, high + 1)),
        "position": POSITIONS,
        "last_place": LAST_PLACES,
    }
    crosses = (
        Cross("rounding_case", ("sign", "last_place", "position")),
        Cross(
            "grid", ("binade", "position"), lambda *at: impossible_position(smallest, *at) or _too_few_bits(unit, *at)
        ),
        Cross("outcome", ("sign", "result")),
    )
    return Group("element", points, crosses)


def _too_few_bits(unit: Quantiser, binade: int, position: str) -> str | None:
    """Why a number has no bits below half of the last place, as bfloat16 has beside MXINT8's largest elements."""
    below = unit.source.precision - 1 - (binade - unit.block.element.quantum(binade))
    if (below < 2 and position in ("below half", "above half")) or (below < 1 and position == "half"):
        return "the source has no bits there"
    return None


def _facts(unit: Quantiser, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    """The facts of each block, and of each number of those that are finite."""
    source, element = Codes(unit.source), Codes(unit.block.element)
    lowest = unit.block.scale.min_normal_exponent
    ulp = lowest_place(unit.source) + lowest
    grid, (low, high) = Grid(unit.block.element, ulp), _binades(unit.block.element)
    shape = -1, unit.block.length
    numbers = np.stack([inputs[x] for x in unit.lane_names("x")], axis=1).reshape(shape).tolist()
    results = np.stack([outputs[name] for name in unit.lane_names("element")], axis=1).reshape(shape).tolist()
    scales = outputs["scale"][:: unit.group].tolist()
    chosen = inputs["rule"][unit.group - 1 :: unit.group].tolist() if "rule" in inputs else [0] * len(scales)
    for codes, elements, scale, choice in zip(numbers, results, scales, chosen, strict=True):
        rule = unit.rules[min(choice, len(unit.rules) - 1)]
        block = [source[code] for code in codes]
        yield "block", _block_facts(unit, rule, [(x.is_number, abs(x.units)) for x in block], scale)
        if scale > unit.block.scale.max_code:
            continue
        for x, result in zip(block, elements, strict=True):
            facts: dict[str, object] = {"sign": "-" if x.negative else "+", "result": element[result].name}
            if x.units:
                magnitude = abs(x.units) << -2 * lowest - scale  # x over its scale
                exponent = magnitude.bit_length() - 1 + ulp
                facts["binade"] = max(low, min(exponent, high))
                facts["position"], facts["last_place"] = grid.case(magnitude)
            yield "element", facts


def _block_facts(unit: Quantiser, rule: ScaleRule, numbers: list[tuple[bool, int]], scale: int) -> dict[str, object]:
    """What a block is by its magnitudes, in the source's smallest numbers, and the code of its scale."""
    top = unit.block.scale.max_code
    facts: dict[str, object] = {"rule": rule.name, "scale": "nan" if scale > top else "above" if scale else "smallest"}
    if not all(finite for finite, _ in numbers):
        return facts | {"amax": "special"}
    amax = max(magnitude for _, magnitude in numbers) * pow2(lowest_place(unit.source))
    subnormal = amax < Fraction(unit.source.smallest_normal)
    facts["amax"] = "zero" if not amax else "subnormal" if subnormal else "normal"
    if 0 < scale <= top:
        asked = unit.block.scale.value_of(scale) * unit.block.divisor(rule)
        facts["side"] = "below" if amax < asked else "equal" if amax == asked else "above"
    return facts
