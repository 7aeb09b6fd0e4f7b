"""Specification of quantisers. Comparisons with thresholds give the block scale and the elements.

The proof has one case for each position of the largest magnitude, so the specification need not compute the maximum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fp9.blocks.scales import scale_codes
from fp9.casts.arrays import decode_native
from fp9.formats.blocks import ScaleRule
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import FLAG_BITS
from fp9.units import Quantiser
from fp9_sim.proofs.miter import Case, selected
from fp9_sim.proofs.specs.casts.cast import broken, expected, magnitude, table_of


def quantiser_cases(unit: Quantiser) -> Iterator[Case]:
    widths = {port.name: port.width for port in unit.inputs}
    for index, rule in enumerate(unit.rules):
        fixed, condition = selected("rule", len(unit.rules), index, widths.get("rule", 0))
        specifications = scale_specifications(unit, rule)
        for place, x in enumerate(unit.lane_names("x")):
            right, wrong = (_scale(unit, place, condition, step) for step in specifications)
            yield Case(f"scale {rule.name}, amax {x}", fixed, right, None if place else wrong)
    yield from element_cases(unit)


def element_cases(unit: Quantiser) -> Iterator[Case]:
    for place, x in enumerate(unit.lane_names("x")):
        right, wrong = _element(unit, place)
        yield Case(f"element of {x}", {}, right, None if place else wrong)


def scale_specifications(unit: Quantiser, rule: ScaleRule) -> tuple[str, str]:
    firsts = _first_magnitudes(unit, rule)
    # The second text is a copy with a deliberate error, which the solver must refute.
    return _step(unit, firsts), _step(unit, [*firsts[:-1], firsts[-1] + 1])


def _first_magnitudes(unit: Quantiser, rule: ScaleRule) -> list[int]:
    """Return the smallest source magnitude for each scale code above 0."""
    codes = np.arange(1, unit.block.scale.max_code + 1)
    low, high = np.full(codes.size, -1), np.full(codes.size, unit.source.max_code + 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        reached = (middle >= 0) & (_codes(unit, rule, np.maximum(middle, 0)) >= codes)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return [int(first) for first in high if first <= unit.source.max_code]


def _codes(unit: Quantiser, rule: ScaleRule, magnitudes: NDArray[np.int64]) -> NDArray[np.int64]:
    numbers = decode_native(magnitudes.astype(unit.source.dtype), unit.source).astype(np.float64)
    return scale_codes(numbers, unit.block, rule).astype(np.int64)


def _step(unit: Quantiser, firsts: Sequence[int]) -> str:
    width, bits = unit.source.bits - 1, unit.block.scale.bits
    special = f"m > {width}'d{unit.source.max_code} ? {bits}'d{unit.block.scale.nan_code(False)}"
    reached = "".join(f"m >= {width}'d{first} ? {bits}'d{code} : " for code, first in reversed([*enumerate(firsts, 1)]))
    return f"  wire [{bits - 1}:0] step = {special}\n    : {reached}{bits}'d0;"


def _scale(unit: Quantiser, place: int, condition: str, step: str) -> str:
    top = unit.source.bits - 2
    magnitudes = [f"{x}[{top}:0]" for x in unit.lane_names("x")]
    largest = " && ".join([condition, *(f"m >= {other}" for other in magnitudes)])
    lines = [f"  wire [{top}:0] m = {magnitudes[place]};", step, f"  assign ok = !({largest}) || scale == step;"]
    return "\n".join(lines)


def _element(unit: Quantiser, place: int) -> tuple[str, str]:
    element, name = unit.block.element, unit.lane_names("element")[place]
    policy = CastPolicy(unit.block.rounding, nan_to_zero=not element.has_nan)
    tables = [table_of(unit.source, element, policy, negative) for negative in (False, True)]
    head = magnitude(unit.source, {"x": unit.lane_names("x")[place]}, "over")
    over = f"  wire signed [7:0] over = {-unit.block.scale.min_normal_exponent} - scale;"
    code = f"expected[{FLAG_BITS + element.bits - 1}:{FLAG_BITS}]"
    nan = f"8'd{unit.block.scale.nan_code(False)}"
    compared = f"  assign ok = {name} == (scale == {nan} ? {element.bits}'d0 : {code});"
    right, wrong = (
        "\n".join([over, *head, *expected(chosen), compared]) for chosen in (tables, [broken(tables[0]), tables[1]])
    )
    return right, wrong
