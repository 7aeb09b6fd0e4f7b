"""Measure a unit's LUTs, flip-flops and clock frequency on an FPGA.

A wrapper registers all inputs and outputs of the unit, so that timing analysis includes every path of the unit.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from fp9.system.missing import MissingTool, install_hint
from fp9.units import Unit
from fp9_rtl.export.verilog import verilog
from fp9_rtl.synthesis.run import Progress
from fp9_rtl.tools.cache import cache_folder, load, store
from fp9_rtl.tools.yosys import YosysError, run_yosys, yosys_version

NOTE = "after place and route with a fixed seed; registers around the unit, counted separately; no DSP blocks"

SEED = 1

_TARGET_MHZ = 200
"""Target clock frequency of the placer in MHz, which units do not reach."""

_DEVICE_CLOCK = "clk"


@dataclass(frozen=True)
class Device:
    """Data of an FPGA: part name, tool options and cell names.

    `luts` maps each cell type to the number of LUTs in the cell.
    """

    name: str
    part: str
    synth: str
    options: tuple[str, ...]
    luts: dict[str, int]
    flip_flop: str
    logic_cell: str
    pins: int

    @property
    def package(self) -> str:
        return f"yowasp-nextpnr-{self.name}"


DEVICES = {
    device.name: device
    for device in (
        Device(
            "ecp5",
            "LFE5U-85F, CABGA756, speed grade 6",
            "synth_ecp5 -nodsp",
            ("--85k", "--package", "CABGA756", "--speed", "6", "--lpf-allow-unconstrained"),
            {"LUT4": 1, "CCU2C": 2},
            "TRELLIS_FF",
            "TRELLIS_COMB",
            365,
        ),
        Device(
            "ice40",
            "iCE40HX8K, CT256",
            "synth_ice40",
            ("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
            {"SB_LUT4": 1},
            "SB_DFF",
            "ICESTORM_LC",
            206,
        ),
    )
}


@dataclass(frozen=True)
class Placed:
    """Results of place and route for one unit on one FPGA."""

    top: str
    device: str
    part: str
    luts: int
    flip_flops: int  # without those of the wrapper
    registers_around: int  # flip-flops of the wrapper
    logic_cells: int  # with those of the wrapper
    fmax_mhz: float
    tools: str
    verilog_sha256: str

    def to_dict(self) -> dict[str, Any]:
        return {"note": NOTE, **dataclasses.asdict(self)}


def place(unit: Unit, device: str, *, cache: Path | None = None) -> Placed:
    """Place and route a unit on an FPGA with a fixed seed."""
    if device not in DEVICES:
        raise ValueError(f"unknown FPGA {device!r}; choose from {', '.join(DEVICES)}")
    chosen = DEVICES[device]
    tools = f"Yosys {yosys_version()}, {chosen.package} {_version(chosen)}"
    text = verilog(unit) + wrapper(unit)
    pins = sum(width for _, width in (*_inputs(unit), *_outputs(unit))) + 1
    if pins > chosen.pins:
        raise ValueError(f"{unit.name} has {pins} pins and the {chosen.part} {chosen.pins}; choose another FPGA")
    digest = hashlib.sha256(text.encode()).hexdigest()
    request = {"fpga": chosen.part, "top": unit.name, "tools": tools, "options": [chosen.synth, *_options(chosen)]}
    request["verilog"] = digest
    folder = cache or cache_folder()
    figures = load(folder, request)
    if figures is None:
        figures = _measure(text, unit, chosen)
        store(folder, request, figures)
    return Placed(top=unit.name, device=device, part=chosen.part, tools=tools, verilog_sha256=digest, **figures)


def wrapper(unit: Unit) -> str:
    """Return a wrapper module with a register at every input and output of the unit."""
    inputs, outputs = _inputs(unit), _outputs(unit)
    ports = [f"input clk, {', '.join(f'input {_range(w)}{n}' for n, w in inputs)}"]
    ports.append(", ".join(f"output reg {_range(w)}{n}" for n, w in outputs))
    lines = [f"module {unit.name}_between_registers({', '.join(ports)});"]
    lines += [f"reg {_range(w)}{n}_held;" for n, w in inputs] + [f"wire {_range(w)}{n}_given;" for n, w in outputs]
    clock = [f".{_DEVICE_CLOCK}(clk)"] if unit.stages else []
    pins = [*clock, *(f".{n}({n}_held)" for n, _ in inputs), *(f".{n}({n}_given)" for n, _ in outputs)]
    lines += [f"{unit.name} unit({', '.join(pins)});", "always @(posedge clk) begin"]
    lines += [f"{n}_held <= {n};" for n, _ in inputs] + [f"{n} <= {n}_given;" for n, _ in outputs]
    return "\n".join([*lines, "end", "endmodule", ""])


def table(results: list[Placed]) -> Table:
    shown = Table(title="On an FPGA", caption=NOTE)
    for heading in ("unit", "FPGA"):
        shown.add_column(heading)
    for heading in ("LUTs", "flip-flops", "registers around", "logic cells", "Fmax MHz"):
        shown.add_column(heading, justify="right")
    for r in results:
        figures = (r.luts, r.flip_flops, r.registers_around, r.logic_cells, f"{r.fmax_mhz:.1f}")
        shown.add_row(r.top, r.part, *map(str, figures))
    return shown


def measure(
    units: list[Unit], device: str, progress: Progress | None = None, cache: Path | None = None
) -> list[Placed]:
    placed = []
    for done, unit in enumerate(units, start=1):
        placed.append(place(unit, device, cache=cache))
        if progress:
            progress(f"{unit.name}: placed and routed", done, len(units))
    return placed


def _inputs(unit: Unit) -> list[tuple[str, int]]:
    control = [port for port in unit.control_inputs if port.name != "clk"]
    return [(port.name, port.width) for port in (*unit.inputs, *control)]


def _outputs(unit: Unit) -> list[tuple[str, int]]:
    return [(port.name, port.width) for port in (*unit.outputs, *unit.control_outputs)]


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _version(device: Device) -> str:
    try:
        return importlib.metadata.version(device.package)
    except importlib.metadata.PackageNotFoundError:
        raise MissingTool(f"{device.package} is not installed; install it with: {install_hint('fpga')}") from None


def _options(device: Device) -> tuple[str, ...]:
    clock = ("--freq", str(_TARGET_MHZ), "--timing-allow-fail")
    return (*device.options, "--seed", str(SEED), *clock, "--json", "netlist.json", "--report", "report.json")


def _measure(text: str, unit: Unit, device: Device) -> dict[str, Any]:
    top = f"{unit.name}_between_registers"
    with tempfile.TemporaryDirectory(prefix="fp9-fpga-") as name:
        folder = Path(name)
        (folder / "design.v").write_text(text)
        steps = f"read_verilog -sv design.v\n{device.synth} -top {top} -json netlist.json\n"
        try:
            run_yosys(f"{steps}tee -q -o statistics.json stat -json\n", folder)
        except YosysError as error:
            raise ValueError(f"cannot synthesise {unit.name} for {device.name}: Yosys says: {error}") from None
        _place_and_route(unit, device, folder)
        cells = json.loads((folder / "statistics.json").read_text())["design"]["num_cells_by_type"]
        report = json.loads((folder / "report.json").read_text())
    around = sum(width for _, width in (*_inputs(unit), *_outputs(unit)))
    flip_flops = sum(count for cell, count in cells.items() if cell.startswith(device.flip_flop))
    return {
        "luts": sum(cells.get(cell, 0) * holds for cell, holds in device.luts.items()),
        "flip_flops": max(0, flip_flops - around),
        "registers_around": min(flip_flops, around),
        "logic_cells": report["utilization"][device.logic_cell]["used"],
        "fmax_mhz": round(min(clock["achieved"] for clock in report["fmax"].values()), 2),
    }


def _place_and_route(unit: Unit, device: Device, folder: Path) -> None:
    module = device.package.replace("-", "_")
    main = f"import sys, {module}; sys.exit({module}.run_{module.removeprefix('yowasp_')}(sys.argv[1:]))"
    command = [sys.executable, "-c", main, *_options(device), "--quiet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        errors = re.findall(r"ERROR: (.*)", done.stderr) or [f"exit code {done.returncode}"]
        raise ValueError(f"cannot place {unit.name} on the {device.part}: nextpnr says: {errors[0].rstrip('.')}")
