"""What the corner suites of floating-point units meet."""

from __future__ import annotations

import pytest
from tests.support.rosters import units

from fp9.suites.columns import classes
from fp9.units import Fpu, FpuOp
from fp9.vectors import generate


@pytest.mark.parametrize("unit", units(Fpu), ids=lambda unit: unit.name)
def test_operands_that_an_operation_does_not_read_are_special_too(unit: Fpu) -> None:
    """A NaN in one of them is none of its result."""
    made, unread = generate(unit, "corner").inputs, {FpuOp.UPCAST: "bc", FpuOp.DOWNCAST: "ab"}
    for op, names in unread.items():
        for name in names:
            assert {*classes(unit.engine.result.format)} <= {*made[name][made["op"] == op].tolist()}, (op, name)
