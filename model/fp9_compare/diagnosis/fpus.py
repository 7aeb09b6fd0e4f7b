"""Ways in which a multi-format FPU may differ from its specification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fp9.units import Columns, MultiFpu, Results, Unit
from fp9.units.multi_fpu import COMPARISONS, MultiFpuOp
from fp9_compare.diagnosis.difference import Difference, Topic


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield possible mistakes in operations that only FPUs have."""
    if not isinstance(unit, MultiFpu):
        return
    if len(unit.formats) > 1 and any(op in unit.operations for op in COMPARISONS):
        says = "its comparisons read operand c in the format of operand a"
        yield Difference(Topic.OPERANDS, says, operands=_compares_in_one_format)
    if MultiFpuOp.TO_INTEGER in unit.operations and any(not integer.signed for integer in unit.integers):
        says = "it copies the top bit of unsigned integer results to all bits above"
        yield Difference(Topic.INTEGERS, says, results=_sign_extended)


def operations(unit: MultiFpu, inputs: Columns, *ops: MultiFpuOp) -> Any:
    """Return a mask (n,) of the operations that the port `op` selects."""
    last = len(unit.operations) - 1
    some = [index for index, op in enumerate(unit.operations) if op in ops]
    return np.isin(np.minimum(inputs["op"], last), some)


def _compares_in_one_format(unit: Unit, inputs: Columns) -> Columns:
    assert isinstance(unit, MultiFpu)
    port, compares = unit.format_port("c"), operations(unit, inputs, *COMPARISONS)
    return {**inputs, port: np.where(compares, inputs[unit.format_port("a")], inputs[port])}


def _sign_extended(unit: Unit, inputs: Columns, results: Results) -> Results:
    assert isinstance(unit, MultiFpu)
    result = np.asarray(results["result"], dtype=np.int64)
    chosen = np.minimum(inputs["integer_format"], len(unit.integers) - 1)
    whole = operations(unit, inputs, MultiFpuOp.TO_INTEGER)
    if unit.lane_widths:
        whole &= inputs["vector"] == 0
    for index, integer in enumerate(unit.integers):
        above = (1 << unit.word) - (1 << integer.bits)
        extended = whole & (chosen == index) & (result >> integer.bits - 1 & 1 != 0)
        result = np.where(extended, result | above, result)
    return {"result": result}
