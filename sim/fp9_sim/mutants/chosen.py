"""Insert mutants into a Yosys JSON netlist, with an input that selects one mutant."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fp9.units import Unit
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.mutants.draw import SELECT, SELECT_BITS
from fp9_sim.netlists.gates import GateNetlist

Bit = int | str


class Choice:
    """Builder that inserts mutants into a Yosys module, and adds an input port that selects the active mutant."""

    def __init__(self, module: dict[str, Any]) -> None:
        self._cells = module["cells"]
        used = (bit for net in module["netnames"].values() for bit in net["bits"] if isinstance(bit, int))
        self._free = itertools.count(1 + max(used))
        self._select = self.nets(SELECT_BITS)
        module["ports"][SELECT] = {"direction": "input", "bits": self._select}

    def nets(self, width: int) -> list[int]:
        return [next(self._free) for _ in range(width)]

    def chosen(self, number: int) -> int:
        (net,) = self.nets(1)
        constant = [str(number >> i & 1) for i in range(SELECT_BITS)]
        widths = {"A_WIDTH": SELECT_BITS, "B_WIDTH": SELECT_BITS, "Y_WIDTH": 1, "A_SIGNED": 0, "B_SIGNED": 0}
        self._cells[f"is_{number}"] = cell("$eq", {"A": self._select, "B": constant, "Y": [net]}, widths)
        return net

    def instead(self, name: str, chosen: int, bits: Sequence[Bit], others: Sequence[Bit]) -> list[int]:
        shown = self.nets(len(bits))
        pins = {"A": bits, "B": others, "S": [chosen], "Y": shown}
        self._cells[name] = cell("$mux", pins, {"WIDTH": len(bits)})
        return shown


def simple_gates(
    unit: Unit, module: dict[str, Any], script: str, furnish: Callable[[Path], object] = lambda folder: None
) -> GateNetlist:
    """Run a Yosys script on a module with mutants, and return the resulting netlist of simple gates."""
    with tempfile.TemporaryDirectory(prefix="fp9-mutants-") as name:
        folder = Path(name)
        furnish(folder)
        (folder / "changed.json").write_text(json.dumps({"modules": {unit.name: module}}))
        run_yosys(script.format(name=unit.name), folder)
        return GateNetlist.from_json(json.loads((folder / "mutants.json").read_text())["modules"][unit.name])


def cell(kind: str, pins: Mapping[str, Sequence[Bit]], parameters: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return a Yosys JSON cell of type `kind`, such as `$mux`. Pin Y is the output."""
    directions = {pin: "output" if pin == "Y" else "input" for pin in pins}
    return {
        "type": kind,
        "parameters": dict(parameters or {}),
        "port_directions": directions,
        "connections": {pin: list(bits) for pin, bits in pins.items()},
    }
