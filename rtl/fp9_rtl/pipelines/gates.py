"""Map each operation to gates with ABC, and compute the gate delays."""

# ABC maps each operation separately, because a pipeline register may later separate two operations. The script is
# that of delay-balanced synthesis, without buffering and cell sizing. The small built-in library has typical delays
# of osu018 cells.

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9_rtl.pipelines.cells import Bit, Cell
from fp9_rtl.tools.order import dependencies_first
from fp9_rtl.tools.yosys import run_yosys

_FUNCTIONS: dict[str, tuple[int, int, str]] = {
    "NOT": (2, 20, "!A"),
    "NAND": (3, 110, "!(A*B)"),
    "NOR": (3, 120, "!(A+B)"),
    "AND": (4, 120, "A*B"),
    "OR": (4, 120, "A+B"),
    "AOI": (4, 120, "!((A*B)+C)"),
    "OAI": (4, 120, "!((A+B)*C)"),
    "XOR": (7, 150, "(A*!B)+(!A*B)"),
    "XNOR": (7, 150, "(A*B)+(!A*!B)"),
    "MUX": (6, 130, "(A*!S)+(B*S)"),
}

DELAYS = {"BUF": 0, **{name: delay for name, (_, delay, _) in _FUNCTIONS.items()}}
"""Delay of each gate in ps, with one gate as load."""

LOAD_DELAY = 40
"""Additional delay in ps for each doubling of a net's fan-out."""

_LIBRARY = "".join(
    [
        "GATE ZERO 0 Y=CONST0;\nGATE ONE 0 Y=CONST1;\nGATE BUF 2 Y=A; PIN * NONINV 1 999 1 0 1 0\n",
        *(
            f"GATE {name} {area} Y={function}; PIN * UNKNOWN 1 999 {delay} 0 {delay} 0\n"
            for name, (area, delay, function) in _FUNCTIONS.items()
        ),
    ]
)

_ABC = "strash; ifraig; scorr; dc2; strash; dch -f; map -B 0.9; topo\n"

_SCRIPT = """\
read_json operations.json
alumacc
opt_clean
techmap
simplemap
opt_clean
abc -genlib gates.genlib -script map.abc
opt_clean -purge
write_json gates.json
"""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate with its output net, its input nets and its delay in ps."""

    output: int
    inputs: tuple[int, ...]
    # The delay grows with the fan-out of the output net, counted within the operation that contains the gate.
    delay: int


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of all operations."""

    # A bit that one operation drives and another operation reads has two nets.

    # Gate that drives each net.
    drivers: Mapping[int, Gate]
    # Input net, for each bit, of the operations that read the bit.
    read: Mapping[int, Bit]
    # Output net, for each bit, of the operation that drives the bit.
    driven: Mapping[int, Bit]
    # Extra delay that the fan-out of each bit causes.
    load_delays: Mapping[int, int]

    def between(self, reads: Iterable[int], drives: Sequence[int]) -> Iterator[Gate]:
        ends = {self.read[bit] for bit in reads}

        def gates(nets: Iterable[Bit]) -> list[Gate]:
            return [
                self.drivers[net] for net in nets if isinstance(net, int) and net in self.drivers and net not in ends
            ]

        return dependencies_first(gates(self.driven[bit] for bit in drives), lambda gate: gates(reversed(gate.inputs)))


def map_operations(operations: Sequence[Sequence[Cell]], folder: Path) -> Gates:
    driven = [bit for operation in operations for bit in operation[-1].drives]
    inner = {bit for operation in operations for cell in operation[:-1] for bit in cell.drives}
    reads = dict.fromkeys(bit for operation in operations for cell in operation for bit in cell.reads)
    read = [bit for bit in reads if bit not in inner]
    own = {bit: index for index, bit in enumerate(driven, start=1 + max([*reads, *driven], default=0))}
    cells = [cell.to_json(own) for operation in operations for cell in operation]
    ports = {
        "read": {"direction": "input", "bits": read},
        "driven": {"direction": "output", "bits": list(own.values())},
    }
    module = {"ports": ports, "cells": {str(index): cell for index, cell in enumerate(cells)}}
    (folder / "operations.json").write_text(json.dumps({"modules": {"apart": module}}))
    (folder / "gates.genlib").write_text(_LIBRARY)
    (folder / "map.abc").write_text(_ABC)
    run_yosys(_SCRIPT, folder)
    mapped = json.loads((folder / "gates.json").read_text())["modules"]["apart"]
    nets = {name: mapped["ports"][name]["bits"] if name in mapped["ports"] else [] for name in ports}
    return _gates(
        mapped["cells"].values(),
        dict(zip(read, nets["read"], strict=True)),
        dict(zip(driven, nets["driven"], strict=True)),
    )


def _gates(cells: Iterable[Mapping[str, Any]], read: dict[int, Bit], driven: dict[int, Bit]) -> Gates:
    ports = [(cell["type"], {port: net for port, (net,) in cell["connections"].items()}) for cell in cells]
    loads = Counter(net for _, nets in ports for port, net in nets.items() if port != "Y")
    load_delays = {net: round(LOAD_DELAY * math.log2(count)) for net, count in loads.items()}
    gates = [
        Gate(
            nets["Y"],
            tuple(net for port, net in sorted(nets.items()) if port != "Y"),
            DELAYS[kind] + load_delays.get(nets["Y"], 0),
        )
        for kind, nets in ports
        if kind in DELAYS
    ]
    return Gates(
        {gate.output: gate for gate in gates},
        read,
        driven,
        {bit: load_delays.get(net, 0) for bit, net in read.items()},
    )
