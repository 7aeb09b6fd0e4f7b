"""What the corner suites of floating-point units meet."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.multi_fpus import DESCRIBED
from tests.support.rosters import units

from fp9.casts.arrays import decode_to
from fp9.formats import FixedFormat, format
from fp9.formats.rounding import Rounding
from fp9.suites.columns import classes
from fp9.suites.corner import corner
from fp9.units import Fpu, FpuOp, MultiFpu, MultiFpuOp
from fp9.vectors import generate


@pytest.mark.parametrize("unit", units(Fpu), ids=lambda unit: unit.name)
def test_operands_that_an_operation_does_not_read_are_special_too(unit: Fpu) -> None:
    """A NaN in one of them is none of its result."""
    made, unread = generate(unit, "corner").inputs, {FpuOp.UPCAST: "bc", FpuOp.DOWNCAST: "ab"}
    for op, names in unread.items():
        for name in names:
            assert {*classes(unit.engine.result.format)} <= {*made[name][made["op"] == op].tolist()}, (op, name)


@pytest.mark.parametrize("unit", units(MultiFpu), ids=lambda unit: unit.name)
def test_sums_just_below_the_normal_range_have_each_leading_bit_at_0(unit: MultiFpu) -> None:
    """A result is tiny after rounding unless all its leading bits are 1 (IEEE 754-2019 section 7.5)."""
    made = generate(unit, "corner")
    whole = (made.inputs["op"] == unit.operations.index(MultiFpuOp.FMADD)) & (made.inputs.get("vector", 0) == 0)
    columns = {name: column[whole] for name, column in {**made.inputs, **made.expected}.items()}
    for result in unit.formats:
        if not isinstance(result, FixedFormat) or not result.subnormals:
            continue
        exact = sum_of(unit, columns) / np.ldexp(result.smallest_normal, -result.precision)
        mode = np.array(unit.roundings)[np.minimum(columns["rounding"], len(unit.roundings) - 1)]
        up = np.where(exact > 0, mode == Rounding.RUP, mode == Rounding.RDN)
        with np.errstate(invalid="ignore"):
            up |= np.isin(mode, [Rounding.RNE, Rounding.RNA]) & (np.abs(exact) % 1 > 1 / 2)
        up &= selected(unit, columns, "result") == unit.formats.index(result)
        leading = {int(each) for each in np.abs(exact[up]) if each < 1 << result.precision}
        wanted = {(1 << result.precision) - 1 - (1 << bit) for bit in range(result.precision - 1)}
        assert wanted <= leading, (result.name, sorted(wanted - leading))


@pytest.mark.parametrize("unit", units(MultiFpu), ids=lambda unit: unit.name)
def test_every_value_of_a_select_meets_operations_that_read_it(unit: MultiFpu) -> None:
    """Unused values of `op` select the last operation, which then meets all values of the formats' selects."""
    made = generate(unit, "corner").inputs
    last = made["op"] >= len(unit.operations) - 1
    for port in unit.inputs:
        if port.name in {"op", unit.format_port("a"), unit.format_port("result")}:
            assert {*made[port.name][last].tolist()} >= {*range(len(port.choices) - 1, 1 << port.width)}, port.name


@pytest.mark.parametrize(
    "unit", [*DESCRIBED, MultiFpu("powers", (format("binary8p1se"), format("fp16")))], ids=lambda unit: unit.name
)
def test_units_unlike_the_catalogues_have_a_corner_suite(unit: MultiFpu) -> None:
    assert len(corner(unit, np.random.default_rng(0))["a"])


def sum_of(unit: MultiFpu, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return a b + c as float64 numbers, whose errors are below a quarter of a result's ulp."""
    with np.errstate(all="ignore"):
        return numbers(unit, columns, "a") * numbers(unit, columns, "b") + numbers(unit, columns, "c")


def numbers(unit: MultiFpu, columns: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Return the numbers of an operand, or of the result, each in its format."""
    selects, found = selected(unit, columns, name), np.zeros(len(columns[name]))
    for index, fmt in enumerate(unit.formats):
        codes = columns[name] & ((1 << fmt.bits) - 1)
        found = np.where(selects == index, decode_to(codes.astype(fmt.dtype), fmt, np.float64), found)
    return found


def selected(unit: MultiFpu, columns: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Return the index of the format of an operand, or of the result. Unused values select the last format."""
    return np.minimum(columns[unit.format_port(name)], len(unit.formats) - 1)
