"""The cocotb test bench of every unit, which drives the vectors of a regression run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

from fp9.system.files import write_whole
from fp9_sim.bench.exchange import COVERAGE, COVERAGE_JSON, FOLDER_VARIABLE, Order, Outcome
from fp9_sim.bench.passes import stream
from fp9_sim.bench.pins import Violation, pins
from fp9_sim.bench.scoreboard import answers_of, mismatches


@cocotb.test()
async def regression(dut: Any) -> None:
    """Check that every vector gives the expected result, in order, with or without stalls."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    order = Order.read(folder)
    try:
        outcome = await (stream(dut, order) if order.vectors.unit.stages else settle(dut, order))
    except Violation as violation:
        outcome = Outcome(answers_of(order.vectors.unit, []), 0, (str(violation),))
    outcome.write(folder)
    if order.coverage and outcome.checked == len(order.vectors):
        measure_coverage(order, outcome, folder)
    first, count = mismatches(order.vectors, outcome.answers, limit=1) if not outcome.violations else ([], 0)
    assert not outcome.violations, outcome.violations[0]
    assert not count, f"{count} mismatches; {first[0]}"
    assert outcome.checked, "no operation was checked"


def measure_coverage(order: Order, outcome: Outcome, folder: Path) -> None:
    from fp9_sim import coverage as functional  # slow to load

    unit, inputs = order.vectors.unit, order.vectors.inputs
    covered = functional.measure(unit, inputs, outcome.answers.values, folder / COVERAGE)
    write_whole(folder / COVERAGE_JSON, json.dumps(covered.to_dict()))


async def settle(dut: Any, order: Order) -> Outcome:
    # The unit has one time unit of the simulator to settle.
    unit = order.vectors.unit
    inputs = pins(dut, unit.inputs)
    outputs = pins(dut, unit.outputs)
    rows: list[Sequence[str]] = []
    last: tuple[int | None, ...] = (None,) * len(inputs)
    step = Timer(1)
    for operation in zip(*(order.vectors.inputs[port.name].tolist() for port in unit.inputs), strict=True):
        for handle, value, before in zip(inputs, operation, last, strict=True):
            if value != before:
                handle.value = value
        last = operation
        await step
        rows.append([str(handle.value) for handle in outputs])
    return Outcome(answers_of(unit, rows), len(rows))
