"""Golden results of accumulators (see `units.Mac`): the operations in order, from reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode_to
from fp9.golden.selects import factor_values, variants
from fp9.kernels import accumulators as mac_kernels
from fp9.kernels import fused as dot_kernels
from fp9.kernels import kulisch as kulisch_kernels
from fp9.sums.general import engine_numbers, output_rounding, step_rounding
from fp9.sums.operands import bit_range, power_table
from fp9.sums.products import EngineKernel
from fp9.sums.sides import NO_POWERS
from fp9.units import product_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.formats import Format
    from fp9.units import Mac
    from fp9.units.base import Columns, Results


def mac(unit: Mac, inputs: Columns) -> Results:
    """Golden results of a `Mac`."""
    engine, size = unit.engine, len(inputs["op"])
    codes, flags = np.empty(size, dtype=engine.output.dtype), np.empty(size, dtype=np.uint8)
    if engine.whole:
        _kulisch(unit, inputs, codes, flags)
    elif engine.products == 1 and engine.window is None and engine.chunk is None and not engine.flush_addend:
        _fused(unit, inputs, codes, flags)
    else:
        _any(unit, inputs, codes, flags)
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}


def _operations(unit: Mac, inputs: Columns) -> NDArray[np.uint8]:
    return np.minimum(inputs["op"], max(unit.operations)).astype(np.uint8)


def _fused(unit: Mac, inputs: Columns, codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
    """A product and an accumulator, by the kernel that knows nothing else."""
    engine = EngineKernel(unit.engine)
    a, b = (numbers[:, 0] for numbers in factor_values(unit, inputs))
    operations, c = _operations(unit, inputs), engine.addends(inputs["c"])
    dot_kernels.mac_array(*engine.rounding, engine.table, operations, a, b, c, codes, flags)


def _kulisch(unit: Mac, inputs: Columns, codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
    """An exact fixed-point sum of the products, rounded after every operation."""
    lowest = product_range(unit.a, unit.b, unit.bias_port).ulp
    operations, factors = _operations(unit, inputs), factor_values(unit, inputs)
    rounding = EngineKernel(unit.engine).rounding
    kulisch_kernels.kulisch_array(rounding, lowest, unit.sum_bits, operations, *factors, codes, flags)


def _any(unit: Mac, inputs: Columns, codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
    """Any engine."""
    engine = unit.engine
    a, b = (numbers.reshape(-1) for numbers in factor_values(unit, inputs))
    numbers, limb_count = engine_numbers(engine, _product_bits(unit, inputs))
    mac_kernels.accumulate(
        *step_rounding(engine),
        *output_rounding(engine),
        numbers,
        _operations(unit, inputs),
        a,
        b,
        _powers(unit, inputs, "a", unit.a),
        _powers(unit, inputs, "b", unit.b),
        decode_to(inputs["c"].astype(engine.addend_format.dtype), engine.addend_format, np.float64),
        inputs["c"].astype(np.uint32),
        np.zeros(limb_count, dtype=np.int64),
        codes,
        flags,
    )


def _product_bits(unit: Mac, inputs: Columns) -> range:
    """The exponents of all bits that products have."""
    ranges = [
        [bit_range(fmt) for fmt, _ in variants(inputs, operand, formats)]
        for operand, formats in (("a", unit.a), ("b", unit.b))
    ]
    lowest = sum(min((low for low, _ in operand), default=0) for operand in ranges)
    highest = sum(max((high for _, high in operand), default=0) for operand in ranges)
    return range(lowest, highest + 2)


def _powers(unit: Mac, inputs: Columns, operand: str, formats: tuple[Format, ...]) -> NDArray[np.float64]:
    """Alignment powers of all lanes, operation by operation, where a window asks for them."""
    if unit.engine.window is None:
        return NO_POWERS.reshape(-1)
    lanes = unit.lane_names(operand)
    powers = np.empty((len(inputs["op"]), len(lanes)))
    for fmt, here in variants(inputs, operand, formats):
        for i, lane in enumerate(lanes):
            powers[here, i] = power_table(fmt)[inputs[lane][here]]
    return powers.reshape(-1)
