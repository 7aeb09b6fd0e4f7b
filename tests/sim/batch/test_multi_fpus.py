"""The circuits of multi-format FPUs against the golden model: catalogue units and units of other formats and fields."""

from __future__ import annotations

import pytest
from tests.support.multi_fpus import DESCRIBED, MODES
from tests.support.tininess import beside_smallest_normal

from fp9.formats import format
from fp9.formats.rounding import Overflow
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, FpuGroup, MultiFpu
from fp9_sim.batch import check, verilated

UNITS = [
    *(unit for unit in CATALOGUE.values() if isinstance(unit, MultiFpu)),
    MultiFpu("several_wide", (format("e4m3fnuz"), format("fp16"), format("bf16")), roundings=MODES, mixed=False),
    MultiFpu("p3109", (format("binary8p3se"), format("f134")), overflow=tuple(Overflow)[:3], lanes=1),
    *DESCRIBED,
    MultiFpu("two_lanes", (format("e5m2"), format("fp16")), lanes=2, stages=2, tag=3),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_circuits_give_the_golden_results(unit: MultiFpu) -> None:
    dut = verilated(unit, operations=1, threads=1)
    for suite in ("corner", "random"):
        first, count = check(unit, inputs_of(unit, suite, None, 11), dut=dut, limit=3)
        assert not count, first


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True], ids=["tiny_after", "tiny_before"])
def test_circuits_detect_tininess_beside_the_smallest_normal_number(before: bool) -> None:
    unit = MultiFpu("tiny", (format("fp16"),), (FpuGroup.ADDMUL,), tiny_before_rounding=before)
    first, count = check(unit, beside_smallest_normal(unit), limit=3)
    assert not count, first
