"""Measure compiled Verilog on one core, beside cocotb's test bench on both simulators."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Contender, Result, measure
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, Unit
from fp9.vectors.sets import generate, port_dtype
from fp9_sim import regress, verilated
from fp9_sim.simulators.find import SIMULATORS

UNITS = ("cast_fp32_ocp_rne", "cast_fp32", "upcast_fp32", "fma_dlfloat16_hfp8", "fma_fp32", "mac_dlfloat16")
ALONE = ("dot2_dlfloat16_hfp8", "dot4_fp32_rvbna", "fpu_dlfloat16_hfp8")
"""Units that are measured without cocotb."""
STAGED = ("mac_dlfloat16", "mac_fp32", "cast_fp32_x4", "dot8_fp32_ocp", "mac4_kulisch_ocp", "dot16_e8m13_ocp")
STREAMS = 2048
OPERATIONS = 1 << 19
COCOTB_OPERATIONS = (1_000, 21_000)
"""Two lengths of a cocotb run. Their difference does not contain the start-up time."""


def _verilated(unit: Unit, package: str = "fp9", streams: int | None = None) -> Contender:
    columns = inputs_of(unit, "random", OPERATIONS, 1)
    inputs = {port.name: np.ascontiguousarray(columns[port.name], port_dtype(port)) for port in unit.inputs}
    dut = verilated(unit, threads=1, streams=streams)
    return Contender(package, lambda: dut(**inputs))


def _cocotb(unit: Unit, simulator: str, folder: Path) -> Result:
    seconds = []
    for count in (COCOTB_OPERATIONS[0], *COCOTB_OPERATIONS):  # the first one builds
        vectors = generate(unit, "random", count)
        seconds.append(regress(unit, vectors, simulator, stalls=False, build_dir=folder).seconds)
    rate = (COCOTB_OPERATIONS[1] - COCOTB_OPERATIONS[0]) / (seconds[2] - seconds[1]) / 1e6
    return Result(_operation(unit), f"cocotb on {simulator}", rate)


def _operation(unit: Unit) -> str:
    return f"simulation of {unit.name}"


def run() -> list[Result]:
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for unit in (CATALOGUE[name] for name in UNITS):
            results += measure(_operation(unit), OPERATIONS, [_verilated(unit)])
            results += [_cocotb(unit, simulator, Path(folder)) for simulator in SIMULATORS]
    for unit in (CATALOGUE[name] for name in ALONE):
        results += measure(_operation(unit), OPERATIONS, [_verilated(unit)])
    for unit in (CATALOGUE[name] for name in STAGED):
        contenders = [_verilated(unit, streams=STREAMS), _verilated(unit, "one sequence")]
        results += measure(f"{STREAMS} streams of {unit.name}", OPERATIONS, contenders)
    return results
