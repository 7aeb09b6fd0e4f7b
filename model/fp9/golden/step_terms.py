"""Terms that an accumulator adds in one step: scaled products, or scaled sums of product groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.golden.selects import factor_values, variants
from fp9.sums.operands import power_table
from fp9.sums.scales import scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.units import Columns, Dot

    Floats = NDArray[np.float64]


class Terms(NamedTuple):
    """Terms of one step, and the powers of two by which the terms are aligned, shape (n, terms)."""

    numbers: Floats
    # The power of a zero is 0. Without an alignment window, the array is empty.
    powers: Floats


def terms_of(unit: Dot, inputs: Columns) -> tuple[Terms, Terms]:
    """Return two factors for each term that the accumulator adds."""
    numbers = factor_values(unit, inputs)
    aligned = unit.engine.window.width is not None
    sides = [
        Terms(values, _powers(unit, inputs, operand) if aligned else values[:, :0])
        for operand, values in zip("ab", numbers, strict=True)
    ]
    if unit.scale is None:
        return sides[0], sides[1]
    scales = [_scales(unit, inputs, operand) for operand in "ab"]
    # The first factor is the scaled sum of a product group, and the second factor is 1.
    if unit.engine.step.group is not None:
        return _grouped(unit.engine.step.group, sides, scales)
    a, b = (
        Terms(scaled(side.numbers, scale.numbers), side.powers * scale.powers if aligned else side.powers)
        for side, scale in zip(sides, scales, strict=True)
    )
    return a, b


def _grouped(group: int, sides: list[Terms], scales: list[Terms]) -> tuple[Terms, Terms]:
    products = (sides[0].numbers * sides[1].numbers).reshape(len(sides[0].numbers), -1, group)
    factors = scales[0].numbers[:, ::group] * scales[1].numbers[:, ::group]
    powers = scales[0].powers[:, ::group] * scales[1].powers[:, ::group]
    sums = Terms(products.sum(axis=2) * factors, np.where(products.any(axis=2), powers, 0.0))
    return sums, Terms(np.ones_like(factors), np.ones_like(factors))


def _powers(unit: Dot, inputs: Columns, operand: str) -> Floats:
    lanes = unit.lane_names(operand)
    powers = np.empty((len(inputs[lanes[0]]), len(lanes)))
    for fmt, here in variants(inputs, operand, unit.a if operand == "a" else unit.b):
        codes = np.stack([inputs[lane][here] for lane in lanes], axis=1) & (1 << fmt.bits) - 1
        powers[here] = power_table(fmt)[codes]
    return powers


def _scales(unit: Dot, inputs: Columns, operand: str) -> Terms:
    assert unit.scale is not None
    codes: NDArray[Any] = np.stack([inputs[name] for name in unit.scale_names(operand)], axis=1)
    codes = np.repeat(codes, unit.products_of_scales, axis=1)
    return Terms(unit.scale.table[codes], power_table(unit.scale)[codes])
