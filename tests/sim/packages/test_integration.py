"""The integration guide: its timing diagram is a simulated waveform, its template and ports are those of the module."""

from __future__ import annotations

import dataclasses
import re

import pytest
from amaranth.sim import Simulator, SimulatorContext

from fp9.units import CATALOGUE, Handshake, Reset, Unit
from fp9_rtl.components import build
from fp9_sim.packages.integration import integration_guide, timing_diagram

CLOCKED = {
    unit.name: unit
    for unit in (
        CATALOGUE["fma_dlfloat16_bias"],
        CATALOGUE["mac_dlfloat16_gated"],
        dataclasses.replace(CATALOGUE["fma_dlfloat16_hfp8"], name="one_stage", stages=1),
        dataclasses.replace(CATALOGUE["fma_dlfloat16_hfp8"], name="never_waits", stages=3, handshake=Handshake.VALID),
    )
}


def _waves(unit: Unit) -> dict[str, list[str]]:
    """The characters of each clock cycle of the diagram, by signal."""
    lines = [line.split(maxsplit=1) for line in timing_diagram(unit).splitlines()]
    return {name: re.findall("." * 6, drawn.ljust(-len(drawn) % 6 + len(drawn))) for name, drawn in lines}


def _held(cycles: list[str]) -> list[str | None]:
    """The operation whose data a bus has in each clock cycle, or None."""
    held: list[str | None] = []
    for cycle in cycles:
        label = re.match(r"<(\w+)", cycle)
        held.append(label[1] if label else None if "x" in cycle else held[-1])
    return held


@pytest.mark.parametrize("name", CLOCKED)
def test_the_timing_diagram_is_a_simulated_waveform(name: str) -> None:
    unit = CLOCKED[name]
    waves, dut = _waves(unit), build(unit)
    operations = [operation for operation in dict.fromkeys(_held(waves["inputs"])) if operation]
    sent = {operation: place + 1 for place, operation in enumerate(operations)}
    seen: dict[str, list[int]] = {name: [] for name in ("in_ready", "out_valid") if name in waves}
    shown = {name: [int("-" in cycle) for cycle in cycles] for name, cycles in waves.items()}
    reading = _held(waves["outputs"])
    outputs: dict[str | None, set[int]] = {}

    async def drive(context: SimulatorContext) -> None:
        for clock, operation in enumerate(_held(waves["inputs"])):
            context.set(dut.in_valid, shown["in_valid"][clock])
            if "out_ready" in shown:
                context.set(dut.out_ready, shown["out_ready"][clock])
            for port in unit.inputs:  # c is 1, 2 or 3, and the products are zero
                value = sent.get(operation or "", 0) << 8 if port.name == "c" else 0
                context.set(getattr(dut, port.name), value)
            for signal, values in seen.items():
                values.append(context.get(getattr(dut, signal)))
            if reading[clock] is not None:
                outputs.setdefault(reading[clock], set()).add(context.get(dut.result))
            await context.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.run()
    assert seen == {name: shown[name] for name in seen} and "out_valid" in seen
    assert operations == list(outputs) == ["1st", "2nd", "3rd"]
    if not unit.has_state:
        assert outputs == {operation: {place << 8} for operation, place in sent.items()}


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_guide_names_every_port_once_in_the_table_and_in_the_template(name: str) -> None:
    unit = CATALOGUE[name]
    guide = integration_guide(unit)
    ports = [port.name for port in (*unit.control_ports, *unit.inputs, *unit.outputs)]
    assert re.findall(r"^\| `(\w+)` \| (?:in|out) \|", guide, re.MULTILINE) == ports
    assert re.findall(r"^  \.(\w+) +\(\1\),?$", guide, re.MULTILINE) == ports
    assert ("```text" in guide) == bool(unit.stages and unit.group == 1)


def test_the_guide_follows_reset_and_handshake_of_the_specification() -> None:
    unit = dataclasses.replace(CLOCKED["never_waits"], reset=Reset.ASYNC_LOW, enable=True)
    guide = integration_guide(unit)
    assert "`rst_n` is active low and acts without a clock edge" in guide
    assert f"{unit.latency} clock cycles later" in guide
    assert "no back-pressure" in guide and "in_ready" not in guide and "`enable` is 0" in guide
