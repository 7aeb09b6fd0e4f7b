"""The cocotb test bench of matrix product tiles, with random pauses."""

# Signals are driven at the falling edge of the clock and read after they have settled.

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from fp9.system.files import write_whole
from fp9_sim.bench.exchange import FOLDER_VARIABLE, ORDER, OUTCOME
from fp9_sim.bench.pins import bit, pin
from fp9_sim.bench.streams import pauses


@cocotb.test()
async def products(dut: Any) -> None:
    """Run all steps of the order through the tile, and write the result rows to the outcome file."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    order = json.loads((folder / ORDER).read_text())
    rows, clocks = await _stream(dut, order)
    write_whole(folder / OUTCOME, json.dumps({"rows": rows, "clocks": clocks}))


async def _stream(dut: Any, order: dict[str, Any]) -> tuple[list[list[int]], int]:
    rng = random.Random(order["seed"])
    gaps, stalls = pauses(rng, True), pauses(rng, True)
    steps, rows = order["steps"], list[list[int]]()
    valid, ready = pin(dut, "in_valid"), pin(dut, "out_ready")
    valid.value, ready.value, dut.rst.value = 0, 0, 1
    Clock(dut.clk, 2, unit="step").start(start_high=False)
    for _ in range(2):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    sent, offered, clock, moved = 0, False, 0, 0
    while clock - moved <= order["patience"]:
        if not offered and sent < len(steps) and not next(gaps):
            offered = True
            for name, value in steps[sent].items():
                pin(dut, name).value = value
        takes = not next(stalls)
        valid.value, ready.value = int(offered), int(takes)
        await ReadOnly()
        if offered and bit(pin(dut, "in_ready")):
            sent, offered, moved = sent + 1, False, clock
        if takes and bit(pin(dut, "out_valid")):
            rows.append([int(pin(dut, "result").value), int(bit(pin(dut, "out_last")))])
            moved = clock
        clock += 1
        await FallingEdge(dut.clk)
    return rows, moved + 1
