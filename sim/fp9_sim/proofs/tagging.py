"""The netlist of a pipelined unit whose data registers are replaced by tag registers."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.units import Unit
from fp9_rtl.tools.yosys import run_yosys

TAG_BITS = 4
UNSTALLED = "unstalled"
"""Name of a copy of the unit that shows the next values of registers without stalls."""

_FLATTEN = """\
read_verilog unit.v
hierarchy -check -top {name}
proc
flatten
{settled}write_json unit.json
"""

_SETTLED = """\
opt_expr
opt_clean
opt_dff
opt_clean
"""

_REGISTERS = ("$dff", "$dffe", "$sdff", "$sdffe", "$sdffce", "$adff", "$adffe")
Cell = dict[str, Any]


@dataclass(frozen=True)
class Tagged:
    """A unit whose data registers hold tags.

    For each data register NAME, the design outputs its tag (`tag_NAME`) and its enable (`takes_NAME`). The input `tag`
    is the tag of a new operation. The input `cut` replaces the data registers' outputs.
    """

    # The unit as Yosys JSON.
    design: str
    # The names of the data registers of each stage.
    stages: tuple[tuple[str, ...], ...]
    # The data registers whose next value depends on their current value.
    state: frozenset[str]
    handshaken: dict[str, int]
    cut_bits: int


@functools.lru_cache(maxsize=4)
def tagged_design(unit: Unit, verilog: str) -> Tagged:
    with tempfile.TemporaryDirectory(prefix="fp9-order-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        run_yosys(_FLATTEN.format(name=unit.name, settled=_SETTLED * unit.stages), folder)
        design = json.loads((folder / "unit.json").read_text())
    netlist = Netlist(unit, design["modules"][unit.name])
    stages = netlist.stages()
    netlist.check_outputs(stages)
    handshaken = {name: len(bits) for name, bits in netlist.handshaken.items()}
    return Tagged(netlist.cut(design, stages), stages, frozenset(netlist.state), handshaken, netlist.cut_bits)


class Netlist:
    """The cells of a flattened unit. `control` names the handshake registers, and `data` names all other registers."""

    def __init__(self, unit: Unit, module: dict[str, Any]) -> None:
        self.unit, self.module = unit, module
        self._input = {
            bit: name for name, port in module["ports"].items() if port["direction"] == "input" for bit in port["bits"]
        }
        self._number()
        for key, cell in list(module["cells"].items()):
            if cell["type"] in _REGISTERS:
                self._split(key, cell)
        self._number()
        self.control = self._control()
        self.data = [name for name in self.registers if name not in self.control]
        self._reads = {name: self._sources(self._data_pins(self.registers[name])) for name in self.registers}
        self.state = {name for name in self.data if name in self._reads[name]}
        self.handshaken = {
            name: self._data_pins(self.registers[name])
            for name in self.data
            if self._reads[name] & {*self.control, "in_valid", "out_ready", "enable"}
        }
        self.cut_bits = sum(len(self.registers[name]["connections"]["Q"]) for name in self.data)

    def _number(self) -> None:
        cells: dict[str, Cell] = self.module["cells"]
        self.registers = {f"r{i}": cell for i, cell in enumerate(c for c in cells.values() if c["type"] in _REGISTERS)}
        self._names = {id(cell): name for name, cell in self.registers.items()}
        self._driver = {
            bit: cell
            for cell in cells.values()
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "output"
            for bit in bits
        }

    def _split(self, key: str, cell: Cell) -> None:
        # If only some bits depend on the register's current value, the register becomes two registers.
        name, pins = self._names[id(cell)], cell["connections"]
        reads = [name in self._sources([bit]) for bit in pins["D"]]
        if all(reads) or not any(reads):
            return
        del self.module["cells"][key]
        for part in (False, True):
            chosen = [i for i, own in enumerate(reads) if own is part]
            kept = pins | {port: [pins[port][i] for i in chosen] for port in ("D", "Q")}
            parameters = cell["parameters"] | {"WIDTH": f"{len(chosen):032b}"}
            self.module["cells"][f"{key}{part:d}"] = cell | {"connections": kept, "parameters": parameters}

    def _sources(self, bits: Iterable[Any]) -> set[str]:
        found: set[str] = set()
        seen: set[Any] = set()
        waiting = list(bits)
        while waiting:
            bit = waiting.pop()
            if bit in seen or isinstance(bit, str):
                continue
            seen.add(bit)
            cell = self._driver.get(bit)
            if cell is None:
                found.add(self._input[bit])
            elif cell["type"] in _REGISTERS:
                found.add(self._names[id(cell)])
            else:
                pins = cell["connections"].items()
                waiting += [b for port, bits in pins if cell["port_directions"][port] == "input" for b in bits]
        return found

    def _data_pins(self, cell: Cell) -> list[Any]:
        pins = cell["connections"]
        chosen = cell["type"] == "$sdffce" or (cell["type"] == "$sdff" and not self._is_reset(pins["SRST"]))
        return [*pins["D"], *(pins["SRST"] if chosen else [])]

    def _is_reset(self, bits: Iterable[Any]) -> bool:
        return self._sources(bits) - {"flush"} == {self.unit.reset.port}

    def _control(self) -> set[str]:
        ports = self.module["ports"]
        found: set[str] = set()
        shown = [bit for port in self.unit.control_outputs for bit in ports[port.name]["bits"]]
        waiting = self._sources(shown) & self.registers.keys()
        while waiting:
            name = waiting.pop()
            found.add(name)
            pins = self.registers[name]["connections"]
            read = self._sources(b for port in pins if port not in ("Q", "CLK") for b in pins[port])
            waiting |= (read & self.registers.keys()) - found
        return found

    def stages(self) -> tuple[tuple[str, ...], ...]:
        depths = self._control_depths()
        self._order_control(depths)
        for _ in self.data:
            for name in [name for name in self.data if name not in depths]:
                feeding = self._feeding(name)
                if feeding <= depths.keys() | set(self._input.values()):
                    depths[name] = self._depth(name, feeding, depths)
        for name in self.data:
            if depths.get(name, self.unit.stages) >= self.unit.stages:
                raise ValueError(f"{self.unit.name}: a register of data belongs to no stage")
            if any(depths[name] - depths[state] not in (0, 1) for state in self._reads[name] & self.state):
                raise ValueError(f"{self.unit.name}: a register reads the state of another stage")
        return tuple(tuple(name for name in self.data if depths[name] == stage) for stage in range(self.unit.stages))

    def _control_depths(self) -> dict[str, int]:
        depths: dict[str, int] = {}
        nearest = {"in_valid"}
        for depth in range(self.unit.stages):
            nearest = {n for n in self.control if n not in depths and self._reads[n] & nearest}
            depths |= dict.fromkeys(nearest, depth)
        return depths

    def _order_control(self, depths: dict[str, int]) -> None:
        bits = [name for name in self.control if len(self.registers[name]["connections"]["Q"]) == 1]
        self.occupied = sorted(bits, key=lambda name: depths.get(name, self.unit.stages))
        found = [depths.get(name) for name in self.occupied]
        # Each stage must have exactly one valid bit.
        if len(bits) != len(self.control) or found != list(range(self.unit.stages)):
            raise ValueError(
                f"{self.unit.name}: no register for each of {self.unit.stages} stages says that it is occupied"
            )

    def _feeding(self, name: str) -> set[str]:
        reads = self._reads[name] - {name, "clk", self.unit.reset.port, "enable", "flush", "out_ready"}
        return reads - self.state - self.control

    def _depth(self, name: str, feeding: set[str], depths: dict[str, int]) -> int:
        found = {depths[source] + 1 if source in self.registers else 0 for source in feeding}
        if len(found) > 1:
            raise ValueError(f"{self.unit.name}: a register reads stages {sorted(found)} at once")
        return found.pop() if found else 0

    def check_outputs(self, stages: tuple[tuple[str, ...], ...]) -> None:
        bits = [bit for port in self.unit.outputs for bit in self.module["ports"][port.name]["bits"]]
        others = self._sources(bits) - set(stages[-1])
        if others:
            raise ValueError(f"{self.unit.name}: outputs read {', '.join(sorted(others))} beside the last stage")

    def cut(self, design: dict[str, Any], stages: tuple[tuple[str, ...], ...]) -> str:
        ports, cells = self.module["ports"], self.module["cells"]
        held = {name: self.registers[name]["connections"]["Q"] for name in self.registers}
        tags = self._new_bits(("tag", *self.data))
        ports["tag"] = {"direction": "input", "bits": tags["tag"]}
        ports["cut"] = {"direction": "input", "bits": [bit for name in self.data for bit in held[name]]}
        ports["occupied"] = {"direction": "output", "bits": [held[name][0] for name in self.occupied]}
        keys = {id(cell): key for key, cell in cells.items()}
        for stage, registers in enumerate(stages):
            before = "tag" if stage == 0 else next(n for n in stages[stage - 1] if n not in self.state)
            for name in registers:
                cell = self.registers[name]
                cells[keys[id(cell)]] = self._tag(cell, tags[before], tags[name])
                ports[f"tag_{name}"] = {"direction": "output", "bits": tags[name]}
                ports[f"takes_{name}"] = {"direction": "output", "bits": cell["connections"].get("EN", ["1"])}
        for name, bits in self.handshaken.items():
            ports[f"next_{name}"] = {"direction": "output", "bits": bits}
        design["modules"][UNSTALLED] = self._unstalled()
        return json.dumps(design)

    def _new_bits(self, names: Iterable[str]) -> dict[str, list[int]]:
        pins = (bits for cell in self.module["cells"].values() for bits in cell["connections"].values())
        free = 1 + max(bit for bits in (*pins, list(self._input)) for bit in bits if isinstance(bit, int))
        return {name: list(range(free + i * TAG_BITS, free + (i + 1) * TAG_BITS)) for i, name in enumerate(names)}

    def _unstalled(self) -> dict[str, Any]:
        ports, cells = self.module["ports"], self.module["cells"]
        full = {"direction": "input", "bits": ports["occupied"]["bits"]}
        kept = {key: cell for key, cell in cells.items() if self._names.get(id(cell)) not in self.control}
        left = {name: port for name, port in ports.items() if name != "occupied"}
        attributes = {name: value for name, value in self.module["attributes"].items() if name != "top"}
        return self.module | {"ports": left | {"full": full}, "cells": kept, "attributes": attributes}

    def _tag(self, cell: Cell, entering: list[int], held: list[int]) -> Cell:
        pins = cell["connections"]
        if cell["type"] == "$sdffe" and not self._is_reset(pins["SRST"]):
            raise ValueError(f"{self.unit.name}: a register of data is cleared by something else than the reset")
        kept = [port for port in ("CLK", "EN") if port in pins]
        parameters = {f"{port}_POLARITY": cell["parameters"][f"{port}_POLARITY"] for port in kept}
        return {
            "type": "$dffe" if "EN" in pins else "$dff",
            "parameters": parameters | {"WIDTH": f"{TAG_BITS:032b}"},
            "attributes": {},
            "port_directions": dict.fromkeys((*kept, "D"), "input") | {"Q": "output"},
            "connections": {port: pins[port] for port in kept} | {"D": entering, "Q": held},
        }
