"""Golden results of accumulators (see `units.Mac`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode_to
from fp9.golden.selects import factor_values, variants
from fp9.golden.step_terms import terms_of
from fp9.kernels import accumulator_steps as mac_kernels
from fp9.kernels import fused as dot_kernels
from fp9.kernels import kulisch_steps as kulisch_kernels
from fp9.kernels.engine_steps import Terms
from fp9.sums.general import engine_numbers, output_rounding, step_rounding
from fp9.sums.operands import bit_range
from fp9.sums.products import EngineKernel
from fp9.units import product_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.units import Mac
    from fp9.units.base import Columns, Results


def mac(unit: Mac, inputs: Columns) -> Results:
    engine, size = unit.engine, len(inputs["op"])
    codes, flags = np.empty(size, dtype=engine.output.dtype), np.empty(size, dtype=np.uint8)
    if engine.step.exact:
        _kulisch(unit, inputs, codes, flags)
    elif (
        unit.scale is None
        and engine.step.products == 1
        and not (engine.window.width or engine.chunk.length or engine.result.flush_addend)
    ):
        _fused(unit, inputs, codes, flags)
    else:
        _any(unit, inputs, codes, flags)
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}


def _operations(unit: Mac, inputs: Columns) -> NDArray[np.uint8]:
    return np.minimum(inputs["op"], max(unit.operations)).astype(np.uint8)


def _fused(unit: Mac, inputs: Columns, codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
    engine = EngineKernel(unit.engine)
    a, b = (numbers[:, 0] for numbers in factor_values(unit, inputs))
    operations, c = _operations(unit, inputs), engine.addends(inputs["c"])
    dot_kernels.mac_array(engine.result, operations, a, b, c, codes, flags)


def _kulisch(unit: Mac, inputs: Columns, codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
    lowest = product_range(unit.a, unit.b, unit.bias_port).ulp
    operations, factors = _operations(unit, inputs), factor_values(unit, inputs)
    rounding = EngineKernel(unit.engine).rounding
    kulisch_kernels.kulisch_array(rounding, lowest, unit.sum_bits, operations, *factors, codes, flags)


def _any(unit: Mac, inputs: Columns, codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
    engine = unit.engine
    a, b = terms_of(unit, inputs)
    numbers, limb_count = engine_numbers(engine, _product_bits(unit, inputs))
    mac_kernels.accumulate(
        step_rounding(engine),
        output_rounding(engine),
        numbers._replace(products=a.numbers.shape[1]),
        _operations(unit, inputs),
        Terms(a.numbers.reshape(-1), b.numbers.reshape(-1), a.powers.reshape(-1), b.powers.reshape(-1)),
        decode_to(inputs["c"].astype(engine.addend_format.dtype), engine.addend_format, np.float64),
        inputs["c"].astype(np.uint32),
        np.zeros(limb_count, dtype=np.int64),
        codes,
        flags,
    )


def _product_bits(unit: Mac, inputs: Columns) -> range:
    ranges = [
        [bit_range(fmt) for fmt, _ in variants(inputs, operand, formats)]
        for operand, formats in (("a", unit.a), ("b", unit.b))
    ]
    lowest = sum(min((low for low, _ in operand), default=0) for operand in ranges)
    highest = sum(max((high for _, high in operand), default=0) for operand in ranges)
    if unit.scale is not None:
        low, high = bit_range(unit.scale)
        lowest, highest = lowest + 2 * low, highest + 2 * (high + 1)
    return range(lowest, highest + 2)
