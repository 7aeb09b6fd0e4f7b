"""Golden results of quantisers: the scale and the elements of each block, computed with functions of `fp9.blocks`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.blocks import quantise
from fp9.blocks.quotients import Quotients, by_casts
from fp9.casts.arrays import decode_native, decode_to
from fp9.formats.policy import CastPolicy
from fp9.golden.selects import chosen, places
from fp9.units import TENSOR_SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.formats.blocks import ScaleRule
    from fp9.units import Columns, Quantiser, Results


def quantiser(unit: Quantiser, inputs: Columns) -> Results:
    # If a block takes several operations, the select port of the last operation selects the scale rule.
    operations = np.stack([decode_native(inputs[x], unit.source) for x in unit.lane_names("x")], axis=1)
    numbers = operations.reshape(-1, unit.block.length)
    last = {name: column[unit.group - 1 :: unit.group] for name, column in inputs.items()}
    elements = np.empty(numbers.shape, dtype=np.uint8)
    scales: NDArray[Any] = np.empty((len(numbers), 1), dtype=np.uint8)
    for choice, here in places(chosen(last, "rule", len(unit.rules))):
        rule = unit.rules[choice]
        if unit.block.tensor:
            elements[here], scales[here, 0] = _over_tensor_scales(unit, numbers[here], rule, last["tensor"][here])
        else:
            elements[here], scales[here] = quantise(numbers[here], unit.block, rule=rule.name, threads=1)
    lanes = np.ascontiguousarray(elements.reshape(operations.shape).T)
    return {"scale": np.repeat(scales[:, 0], unit.group), **dict(zip(unit.lane_names("element"), lanes, strict=True))}


def _over_tensor_scales(
    unit: Quantiser, numbers: NDArray[Any], rule: ScaleRule, codes: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    # A tensor scale that is not a positive normal number makes the block's scale NaN.
    one, lowest = TENSOR_SCALE.code_of(Fraction(1)), TENSOR_SCALE.code_of(Fraction(TENSOR_SCALE.smallest_normal))
    usable = (codes >= lowest) & (codes <= TENSOR_SCALE.max_code)
    whole = decode_to(np.where(usable, codes, one), TENSOR_SCALE, np.float64)
    elements, scales = by_casts(numbers, Quotients(unit.block, rule, CastPolicy(unit.block.rounding), whole, None))
    nan = unit.block.scale.nan_code(False)
    assert nan is not None, "every scale has a NaN"
    return np.where(usable[:, np.newaxis], elements, 0), np.where(usable, scales, nan)
