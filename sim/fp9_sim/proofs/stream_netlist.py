"""The netlist of a streaming quantiser, divided into its block register and later stages."""

from __future__ import annotations

import functools
import json
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from fp9.units import Port, Quantiser, Unit
from fp9_rtl.tools.yosys import run_yosys

GIVEN = "given_scale"

_FLATTEN = """\
read_verilog unit.v
hierarchy -check -top {name}
proc
{kept}
flatten
opt_clean
write_json unit.json
"""

_BACK = "read_json behind.json\nopt_clean\nrename {name} {behind}\nwrite_verilog -noattr behind.v\n"


@dataclass(frozen=True)
class BehindBlock(Unit):
    """The pipeline stages that follow the block register of a streaming quantiser, as a separate unit."""

    kind: ClassVar[str] = "elements"
    name: str
    quantiser: Quantiser
    stages: int

    @property
    def inputs(self) -> tuple[Port, ...]:
        unit = self.quantiser
        numbers = unit.inputs[: unit.width]
        whole = [replace(port, name=f"given_{port.name}") for port in unit.inputs if port.name == "tensor"]
        return (*numbers, Port(GIVEN, unit.block.scale.bits, "their scale", (unit.block.scale,)), *whole)

    @property
    def outputs(self) -> tuple[Port, ...]:
        return self.quantiser.outputs


def behind_block(unit: Quantiser) -> BehindBlock:
    return BehindBlock(f"{unit.name}_behind", unit, unit.stages - 1)


@functools.lru_cache(maxsize=4)
def exposed(unit: Quantiser, verilog: str) -> tuple[str, dict[str, int]]:
    """Return a flat netlist in Yosys JSON with additional output ports, and the width of each additional port.

    The additional output ports show the nets of the quantiser's block register.
    """
    module = _flattened(unit, verilog, "")
    nets = _nets(unit, module)
    for name, bits in nets.items():
        module["ports"][name] = {"direction": "output", "bits": bits}
    return json.dumps({"modules": {unit.name: module}}), {name: len(bits) for name, bits in nets.items()}


def _nets(unit: Quantiser, module: dict[str, Any]) -> dict[str, list[Any]]:
    found = {
        "taken": _net(unit, module, r"u_block\.taken"),
        "lead": _net(unit, module, r"u_block\.lead"),
        "amax": _net(unit, module, r"u_block\.amax"),
        "block_valid": _net(unit, module, r"u_block\.o_valid"),
        "block_ready": _net(unit, module, r"u_block\.o_ready"),
        "block_scale": _net(unit, module, r"u_block\.(o_)?payload_scale"),
        "places": [b for i in range(unit.group) for b in _net(unit, module, rf"u_block\.place{i}")],
    }
    found |= {f"block_{x}": _net(unit, module, rf"u_block\.o_payload_{x}") for x in unit.lane_names("x")}
    if unit.stages > 1:
        stages = range(1, unit.stages)
        found["occupied"] = [b for i in stages for b in _net(unit, module, rf"u_elements\.u_register{i}\.o_valid")]
    return found


def _net(unit: Quantiser, module: dict[str, Any], pattern: str) -> list[Any]:
    bits = [net["bits"] for name, net in module["netnames"].items() if re.fullmatch(pattern, name)]
    if len(bits) != 1:
        raise ValueError(f"{unit.name}: no register of the block is named {pattern}; give the Verilog that fp9 writes")
    return list(bits[0])


def _flattened(unit: Quantiser, verilog: str, kept: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fp9-stream-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        run_yosys(_FLATTEN.format(name=unit.name, kept=kept), folder)
        module: dict[str, Any] = json.loads((folder / "unit.json").read_text())["modules"][unit.name]
        return module


@functools.lru_cache(maxsize=4)
def behind(unit: Quantiser, verilog: str) -> str:
    kept = f"setattr -mod -set keep_hierarchy 1 {unit.name}_block"
    module = _flattened(unit, verilog, kept)
    ((key, block),) = [(k, c) for k, c in module["cells"].items() if c["type"] == f"{unit.name}_block"]
    del module["cells"][key]
    pins = {
        re.sub("^([io]_)?payload_", "o_", port): bits
        for port, bits in block["connections"].items()
        if not port.startswith("i_payload")
    }
    rest = behind_block(unit)
    driven = {port.name: pins[f"o_{port.name.removeprefix('given_')}"] for port in rest.inputs}
    kept_ports = [port.name for port in rest.outputs]
    if rest.stages:
        kept_ports += ["clk", "rst", "out_valid", "out_ready"]
        driven["in_valid"] = pins["o_valid"]
    ports = {name: module["ports"][name] for name in kept_ports}
    ports |= {name: {"direction": "input", "bits": bits} for name, bits in driven.items()}
    if rest.stages:
        ports["in_ready"] = {"direction": "output", "bits": pins["o_ready"]}
    wires = {name: wire for name, wire in module["netnames"].items() if name in kept_ports or "valid" in name}
    shell = module | {"ports": ports, "netnames": wires}
    with tempfile.TemporaryDirectory(prefix="fp9-behind-") as name:
        folder = Path(name)
        (folder / "behind.json").write_text(json.dumps({"modules": {unit.name: shell}}))
        run_yosys(_BACK.format(name=unit.name, behind=rest.name), folder)
        return (folder / "behind.v").read_text()
