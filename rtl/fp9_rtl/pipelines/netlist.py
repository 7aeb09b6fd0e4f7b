"""Convert a datapath to a netlist of word-level operations, and convert each operation to gates."""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9_rtl.parts.step import Step, chain
from fp9_rtl.pipelines.cells import Bit, Cell, read_cells
from fp9_rtl.pipelines.gates import Gate, Gates, map_operations
from fp9_rtl.tools.order import dependencies_first
from fp9_rtl.tools.rtlil import WITHOUT_PROCESSES, to_rtlil
from fp9_rtl.tools.yosys import run_yosys

_TOP = "datapath"
_INPUT, _OUTPUT = "from_", "to_"
_SCRIPT = f"""\
{WITHOUT_PROCESSES}opt_clean -purge
write_json words.json
"""
# A submodule whose name begins with its parent's: decode_decode_a.
_REPEATED = re.compile(r"(?:\b|(?<=_))([a-z]+)_(?=\1_)")


@dataclass(frozen=True, slots=True)
class Operation:
    """A group of cells between which pipelining places no register. A cell that drives another cell comes first."""

    cells: tuple[Cell, ...]
    # Bits that enter and leave the operation, without constants.
    reads: tuple[int, ...]
    drives: tuple[int, ...]
    # Gates in topological order.
    gates: tuple[Gate, ...]


@dataclass(frozen=True, slots=True)
class Netlist:
    """Netlist of a datapath: operations in topological order, and the bits of inputs, outputs and named signals."""

    operations: tuple[Operation, ...]
    inputs: tuple[Bit, ...]
    outputs: tuple[Bit, ...]
    names: Mapping[int, tuple[str, int]]
    gates: Gates


def netlist(steps: Sequence[Step]) -> Netlist:
    return _netlist(to_rtlil(_Datapath(steps), _TOP))


def leaves(layout: data.Layout, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, field in layout:
        if isinstance(field.shape, data.Layout):
            yield from leaves(field.shape, f"{prefix}{name}_")
        else:
            yield f"{prefix}{name}", field.width


class _Datapath(wiring.Component):
    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._inputs = [(_INPUT + name, width) for name, width in leaves(steps[0].i.shape())]
        self._outputs = [(_OUTPUT + name, width) for name, width in leaves(steps[-1].o.shape())]
        super().__init__({**{n: In(width) for n, width in self._inputs}, **{n: Out(w) for n, w in self._outputs}})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operands = Signal(self._steps[0].i.shape())
        results = chain(m, self._steps, operands).as_value()
        place = 0
        for name, width in self._inputs:
            m.d.comb += operands.as_value()[place : place + width].eq(getattr(self, name))
            place += width
        place = 0
        for name, width in self._outputs:
            m.d.comb += getattr(self, name).eq(results[place : place + width])
            place += width
        return m


@functools.lru_cache(maxsize=64)
def _netlist(rtlil: str) -> Netlist:
    with tempfile.TemporaryDirectory(prefix="fp9-netlist-") as temporary:
        folder = Path(temporary)
        (folder / "unit.il").write_text(rtlil)
        run_yosys(_SCRIPT, folder)
        words = json.loads((folder / "words.json").read_text())["modules"][_TOP]
        operations = read_cells(words)
        gates = map_operations(operations, folder)
    return Netlist(
        tuple(_ordered([_operation(cells, gates) for cells in operations])),
        _port_bits(words, "input"),
        _port_bits(words, "output"),
        _names(words),
        gates,
    )


def _operation(cells: Sequence[Cell], gates: Gates) -> Operation:
    inner = {bit for cell in cells[:-1] for bit in cell.drives}
    reads = tuple(dict.fromkeys(bit for cell in cells for bit in cell.reads if bit not in inner))
    drives = cells[-1].drives
    return Operation(tuple(cells), reads, drives, tuple(gates.between(reads, drives)))


def _ordered(operations: list[Operation]) -> Iterator[Operation]:
    driver = {bit: operation for operation in operations for bit in operation.drives}
    return dependencies_first(operations, lambda one: (driver[bit] for bit in reversed(one.reads) if bit in driver))


def _port_bits(words: dict[str, Any], direction: str) -> tuple[Bit, ...]:
    return tuple(bit for port in words["ports"].values() if port["direction"] == direction for bit in port["bits"])


def _names(words: dict[str, Any]) -> dict[int, tuple[str, int]]:
    # The bits of inputs have the input's name, and other bits have their shortest name.
    named: dict[int, tuple[str, int]] = {}
    taken: set[tuple[str, int]] = set()
    wires = [(name, wire["bits"]) for name, wire in words["netnames"].items() if not name.startswith("$")]
    for name, bits in sorted(wires, key=lambda wire: (not wire[0].startswith(_INPUT), len(wire[0]), wire[0])):
        for index, bit in enumerate(bits):
            place = _REPEATED.sub("", name.removeprefix(_INPUT).removeprefix(_OUTPUT)), index
            if isinstance(bit, int) and bit not in named and place not in taken:
                named[bit] = place
                taken.add(place)
    return named
