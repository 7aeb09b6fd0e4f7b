"""Golden results of quantisers: `fp9.blocks.quantise`, called by port names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.blocks import quantise
from fp9.casts.arrays import decode_native
from fp9.golden.selects import chosen, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.units import Columns, Quantiser, Results


def quantiser(unit: Quantiser, inputs: Columns) -> Results:
    """Golden results of a `Quantiser`; where a block is several operations, the last one chooses the rule."""
    operations = np.stack([decode_native(inputs[x], unit.source) for x in unit.lane_names("x")], axis=1)
    numbers = operations.reshape(-1, unit.block.length)
    last = {name: column[unit.group - 1 :: unit.group] for name, column in inputs.items()}
    elements = np.empty(numbers.shape, dtype=np.uint8)
    scales: NDArray[Any] = np.empty((len(numbers), 1), dtype=np.uint8)
    for choice, here in places(chosen(last, "rule", len(unit.rules))):
        elements[here], scales[here] = quantise(numbers[here], unit.block, rule=unit.rules[choice].name, threads=1)
    lanes = np.ascontiguousarray(elements.reshape(operations.shape).T)
    return {"scale": np.repeat(scales[:, 0], unit.group), **dict(zip(unit.lane_names("element"), lanes, strict=True))}
