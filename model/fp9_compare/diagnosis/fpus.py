"""Ways in which the results of a multi-format FPU may differ from its specification."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fp9.units import Columns, MultiFpu, Results, Unit
from fp9.units.hooks import Hook
from fp9.units.multi_fpu import COMPARISONS, MultiFpuOp
from fp9_compare.diagnosis.classes import operations
from fp9_compare.diagnosis.difference import Difference, Topic


def _differences(unit: MultiFpu) -> Iterator[Difference]:
    if len(unit.formats) > 1 and any(op in unit.operations for op in COMPARISONS):

        def in_one_format(_: Unit, inputs: Columns) -> Columns:
            port, compares = unit.format_port("c"), operations(unit, inputs, *COMPARISONS)
            return {**inputs, port: np.where(compares, inputs[unit.format_port("a")], inputs[port])}

        says = "its comparisons read operand c in the format of operand a"
        yield Difference(Topic.OPERANDS, says, operands=in_one_format)
    if MultiFpuOp.TO_INTEGER in unit.operations and any(not integer.signed for integer in unit.integers):

        def sign_extended(_: Unit, inputs: Columns, results: Results) -> Results:
            return {"result": _sign_extended(unit, inputs, results)}

        says = "it copies the top bit of unsigned integer results to all bits above"
        yield Difference(Topic.INTEGERS, says, results=sign_extended)


def _sign_extended(unit: MultiFpu, inputs: Columns, results: Results) -> np.ndarray:
    result = np.asarray(results["result"], dtype=np.int64)
    chosen = np.minimum(inputs["integer_format"], len(unit.integers) - 1)
    whole = operations(unit, inputs, MultiFpuOp.TO_INTEGER)
    if unit.lane_widths:
        whole &= inputs["vector"] == 0
    for index, integer in enumerate(unit.integers):
        above = (1 << unit.word) - (1 << integer.bits)
        extended = whole & (chosen == index) & (result >> integer.bits - 1 & 1 != 0)
        result = np.where(extended, result | above, result)
    return result


differences: Hook[[], Iterator[Difference]] = Hook(
    "differences of the operations of an FPU", {MultiFpu: _differences}, otherwise=lambda unit: iter(())
)
