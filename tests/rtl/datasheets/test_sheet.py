"""Data sheets: the committed ones are what the generator gives, and their timing is what the hardware does."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path

import pytest
from amaranth.sim import Simulator, SimulatorContext
from click.testing import CliRunner
from tests.support.rosters import every_circuit

from fp9.cli import main
from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE, MAX_STAGES, Decoder, Unit
from fp9_rtl.components import build
from fp9_rtl.datasheets import sheet as datasheet
from fp9_rtl.datasheets import timing as datasheet_timing
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_rtl.synthesis.mapping import MAPPED

SHEETS = Path(__file__).parents[3] / "docs" / "units"
RECORDS = SHEETS.parent / "verification"
DECODER = CATALOGUE["decoder_hif8"]

with_wavedrom = pytest.mark.skipif(
    importlib.util.find_spec("wavedrom") is None, reason="wavedrom is not installed; install fp9[docs]"
)


@pytest.mark.parametrize("unit", every_circuit())
def test_every_port_and_format_has_a_row(unit: Unit) -> None:
    text = datasheet.sheet(unit)
    for port in (*unit.inputs, *unit.outputs):
        assert text.count(f"| `{port.name}` |") == 1
        assert all(f"| {fmt.name} | {fmt.bits} |" in text for fmt in port.formats)
    assert (text.count("`out_ready`") > 0) == (unit.stages > 0)


@pytest.mark.parametrize("stages", range(1, MAX_STAGES + 1))
def test_the_diagram_shows_what_the_hardware_does(stages: int) -> None:
    unit = dataclasses.replace(DECODER, name="decoder_staged", stages=stages)  # type: ignore[type-var]
    assert isinstance(unit, Decoder)
    shown = datasheet_timing.handshakes(stages)
    dut = build(unit)
    seen: dict[str, list[int]] = {"in_ready": [], "out_valid": []}

    async def drive(context: SimulatorContext) -> None:
        for in_valid, out_ready in zip(shown["in_valid"], shown["out_ready"], strict=True):
            context.set(dut.in_valid, in_valid)
            context.set(dut.out_ready, out_ready)
            for name, values in seen.items():
                values.append(context.get(getattr(dut, name)))
            await context.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.run()
    assert seen == {name: shown[name] for name in seen}
    columns = (shown[name] for name in ("outputs", "out_valid", "out_ready"))
    results = [value for value, valid, ready in zip(*columns, strict=True) if valid and ready]
    assert tuple(results) == datasheet_timing.OPERATIONS


def test_without_wavedrom_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wavedrom", None)
    with pytest.raises(MissingTool, match=r"wavedrom is not installed; install it with: pip install .*\[docs\]'"):
        datasheet_timing.timing_svg(DECODER)


@pytest.mark.slow
@with_wavedrom
def test_the_command_writes_the_sheet_of_a_unit(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["datasheet", "decoder_hif8", "--out", str(tmp_path / "sheets"), "--json"])
    if "Liberty" in result.output:
        pytest.skip("the Liberty file is missing; install qflow-tech-osu018")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "sheets").iterdir()) == [
        "decoder_hif8.md",
        "timing_combinational.svg",
    ]
    text = (tmp_path / "sheets" / "decoder_hif8.md").read_text()
    cells = [tuple(map(str.strip, row.split("|")[1:3])) for row in text.splitlines() if row.startswith("|")]
    assert [row for row in cells if row[0] in MAPPED] == [
        (mapping, library) for mapping in MAPPED for library in SIDE_BY_SIDE
    ]
    assert "Measure again: `fp9 synth decoder_hif8 --library osu018 --library nangate45`" in text
