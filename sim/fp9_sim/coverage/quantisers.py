"""Coverage model of quantisers: maximum and scale of blocks, rounding cases of elements."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fp9.formats import Format, floor_log2, pow2
from fp9.formats.blocks import ScaleRule
from fp9.units import TENSOR_SCALE, Columns, Quantiser
from fp9_sim.coverage.casts import impossible_position
from fp9_sim.coverage.model import LAST_PLACES, POSITIONS, SIGNS, Cross, Facts, Group, Model, classes_of
from fp9_sim.coverage.values import Codes, Grid, lowest_place

AMAX = ("zero", "subnormal", "normal", "special")
SCALES = ("smallest", "above", "nan")
# Whether amax divided by the divisor is below, equal to, or above the scale.
SIDES = ("below", "equal", "above")

TENSORS = ("usable", "unusable")

# Exponent of the last bit of a quotient, which is sticky, if the scale is not a power of two.
_FINEST = -40

_FINITE = ("zero", "subnormal", "smallest normal", "normal", "largest")
# Number of binades below the smallest element that have their own bins.
_BEYOND = 2


def quantiser_model(unit: Quantiser) -> Model:
    return Model((_blocks(unit), _elements(unit)), lambda inputs, outputs: _facts(unit, inputs, outputs))


def _blocks(unit: Quantiser) -> Group:
    rules = {rule.name: rule for rule in unit.rules}
    points = {"rule": tuple(rules), "amax": AMAX, "scale": SCALES, "side": SIDES}
    crosses = [
        Cross("amaxes", ("rule", "amax")),
        Cross("scales", ("rule", "scale")),
        Cross("sides", ("rule", "side"), lambda rule, side: _impossible_side(rules[rule], side)),
    ]
    if unit.block.tensor:
        points["tensor"] = TENSORS
        crosses.append(Cross("tensors", ("rule", "tensor")))
    return Group("block", points, tuple(crosses))


def _impossible_side(rule: ScaleRule, side: str) -> str | None:
    down = rule.rounding.moves_toward_zero(False)
    if side == "below" and down and not rule.amax_first:
        return "the rule rounds down"
    if side == "above" and not down and not rule.rounding.is_nearest:
        return "the rule rounds up"
    return None


def binades(element: Format) -> tuple[int, int]:
    """Return the lowest and the highest exponent with bins in the cover point `binade`."""
    return lowest_place(element) - _BEYOND, floor_log2(element.max_magnitude)


def _elements(unit: Quantiser) -> Group:
    element = unit.block.element
    low, high = binades(element)
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
    # For example, BF16 numbers have no bits below half an ulp of MXINT8's largest elements.
    below = unit.source.precision - 1 - (binade - unit.block.element.quantum(binade))
    if (below < 2 and position in ("below half", "above half")) or (below < 1 and position == "half"):
        return "the source has no bits there"
    return None


def _facts(unit: Quantiser, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    source, element = Codes(unit.source), Codes(unit.block.element)
    over = Over(unit)
    grid, (low, high) = Grid(unit.block.element, over.ulp), binades(unit.block.element)
    shape = -1, unit.block.length
    numbers = np.stack([inputs[x] for x in unit.lane_names("x")], axis=1).reshape(shape).tolist()
    results = np.stack([outputs[name] for name in unit.lane_names("element")], axis=1).reshape(shape).tolist()
    scales = outputs["scale"][:: unit.group].tolist()
    chosen = inputs["rule"][unit.group - 1 :: unit.group].tolist() if "rule" in inputs else [0] * len(scales)
    ones = np.full(len(inputs["x0"]), TENSOR_SCALE.code_of(Fraction(1)))
    tensors = inputs.get("tensor", ones)[unit.group - 1 :: unit.group].tolist()
    for codes, elements, scale, choice, tensor in zip(numbers, results, scales, chosen, tensors, strict=True):
        rule = unit.rules[min(choice, len(unit.rules) - 1)]
        block = [source[code] for code in codes]
        yield "block", _block_facts(unit, rule, [(x.is_number, abs(x.units)) for x in block], scale, tensor)
        if scale > unit.block.scale.max_code or not (scale or unit.block.powers_of_two):
            continue
        for x, result in zip(block, elements, strict=True):
            facts: dict[str, object] = {"sign": "-" if x.negative else "+", "result": element[result].name}
            if x.units:
                magnitude = over(abs(x.units), scale, tensor)
                exponent = magnitude.bit_length() - 1 + over.ulp
                facts["binade"] = max(low, min(exponent, high))
                facts["position"], facts["last_place"] = grid.case(magnitude)
            yield "element", facts


class Over:
    """Divide magnitudes by the block scale and the tensor scale."""

    # Quotients are in units of 2^`ulp`. If the block scale is not a power of two, the last bit of each quotient is a
    # sticky bit, the OR of all lower bits.

    def __init__(self, unit: Quantiser) -> None:
        self._unit, self._place = unit, lowest_place(unit.source)
        exact = self._place + unit.block.scale.min_normal_exponent
        self.ulp = exact if unit.block.powers_of_two else _FINEST

    def __call__(self, units: int, scale: int, tensor: int) -> int:
        # `units` is the magnitude in units of the source format's smallest ulp.
        if self._unit.block.powers_of_two:
            return units << -2 * self._unit.block.scale.min_normal_exponent - scale
        by = self._unit.block.scale.value_of(scale) * TENSOR_SCALE.value_of(tensor)
        places, rest = divmod(units * pow2(self._place - self.ulp) / by, 1)
        return places | bool(rest)


def _block_facts(
    unit: Quantiser, rule: ScaleRule, numbers: list[tuple[bool, int]], scale: int, tensor: int
) -> dict[str, object]:
    top = unit.block.scale.max_code
    facts: dict[str, object] = {"rule": rule.name, "scale": "nan" if scale > top else "above" if scale else "smallest"}
    usable = 0 < tensor >> TENSOR_SCALE.fraction_bits <= TENSOR_SCALE.max_code >> TENSOR_SCALE.fraction_bits
    if unit.block.tensor:
        facts["tensor"] = TENSORS[not usable]
    if not all(finite for finite, _ in numbers):
        return facts | {"amax": "special"}
    amax = max(magnitude for _, magnitude in numbers) * pow2(lowest_place(unit.source))
    subnormal = amax < Fraction(unit.source.smallest_normal)
    facts["amax"] = "zero" if not amax else "subnormal" if subnormal else "normal"
    if 0 < scale <= top - unit.block.tensor:  # the largest float may be too small by any rule
        asked = unit.block.scale.value_of(scale) * unit.block.divisor(rule) * TENSOR_SCALE.value_of(tensor)
        facts["side"] = "below" if amax < asked else "equal" if amax == asked else "above"
    return facts
