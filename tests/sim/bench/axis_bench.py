"""The cocotb bench of the AXI4-Stream wrapper: cocotbext-axi's source and sink, which know the standard and not fp9."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

FOLDER = "AXIS_FOLDER"
"""Environment variable that names the folder of `frames.json`: operations, results and tuser of every frame."""


def pauses(seed: int) -> Iterator[bool]:
    rng = random.Random(seed)
    while True:
        density = rng.choice((0.0, 0.2, 0.8))
        for _ in range(rng.randrange(1, 20)):
            yield rng.random() < density


@cocotb.test()
async def frames_come_back_whole(dut: Any) -> None:
    folder = Path(os.environ[FOLDER])
    frames = json.loads((folder / "frames.json").read_text())
    Clock(dut.aclk, 2, unit="step").start()
    dut.aresetn.value = 0
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, reset_active_level=False)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, reset_active_level=False)
    for _ in range(3):
        await RisingEdge(dut.aclk)
    dut.aresetn.value = 1
    source.set_pause_generator(pauses(1))
    sink.set_pause_generator(pauses(2))
    for frame in frames:
        await source.send(AxiStreamFrame(bytes.fromhex(frame["operands"]), tuser=frame["user"]))
    for number, frame in enumerate(frames):
        back = await with_timeout(sink.recv(), 100_000, "step")
        assert bytes(back.tdata).hex() == frame["results"], f"frame {number}"
        assert back.tuser == frame["user"], f"frame {number}"
    assert sink.empty()
    (folder / "checked").write_text(str(len(frames)))
