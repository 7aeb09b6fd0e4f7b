"""Netlists of standard cells with up to six inputs, and their simulation without glitches.

A 64-bit word holds the values of a net in 64 independent input sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.units import Reset
from fp9_rtl.synthesis.liberty import truth_table
from fp9_rtl.synthesis.power import MOST_INPUTS, Cell
from fp9_sim.netlists.cell_kernels import run
from fp9_sim.netlists.gates import REGISTER, WORD, bit_planes

History = NDArray[np.uint64]
"""Settled values of nets, shape (clocks, nets, words). Each bit of a word belongs to one input sequence."""

_CONTROL = {"in_valid": True, "out_ready": True, "enable": True}
_RESETS = {reset.port: reset.active for reset in Reset}
CLOCK = "clk"

_GATES = {
    "$_AND_": "A*B",
    "$_OR_": "A+B",
    "$_XOR_": "A^B",
    "$_NAND_": "!(A*B)",
    "$_NOR_": "!(A+B)",
    "$_XNOR_": "!(A^B)",
    "$_NOT_": "!A",
    "$_MUX_": "(A*!S)+(B*S)",
}


def _gate(name: str, function: str) -> Cell:
    inputs = tuple(pin for pin in "ABS" if pin in function)
    return Cell(name, inputs, {"Y": truth_table(function, inputs)}, (), "", {}, (), ())


SIMPLE_GATES = {name: _gate(name, function) for name, function in _GATES.items()} | {
    REGISTER: Cell(REGISTER, ("D",), {"Q": (False, True)}, (False, True), "C", {}, (), ())
}


@dataclass(frozen=True)
class Placed:
    """An instance of a library cell. `bit` is the net of a register's stored bit, or -1 for other cells."""

    name: str
    cell: Cell
    nets: Mapping[str, int]
    bit: int = -1


@dataclass(frozen=True)
class CellNetlist:
    """A netlist of standard cells in the order of evaluation."""

    cells: tuple[Placed, ...]
    # The nets of each port, least significant bit first.
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    # Net 0 is the constant 0, and net 1 is the constant 1.
    nets: int
    bits_from: int

    @classmethod
    def from_json(cls, module: Mapping[str, Any], find: Callable[[str], Cell]) -> CellNetlist:
        numbers: dict[int | str, int] = {"0": 0, "1": 1}

        def net(bit: int | str) -> int:
            return 0 if bit == "x" else numbers.setdefault(bit, len(numbers))

        ports: dict[str, dict[str, tuple[int, ...]]] = {"input": {}, "output": {}}
        for name, port in module["ports"].items():
            ports[port["direction"]][name] = tuple(net(bit) for bit in port["bits"])
        placed = [
            Placed(name, find(cell["type"]), {p: net(bits[0]) for p, bits in cell["connections"].items() if bits})
            for name, cell in sorted(module["cells"].items())
            if cell["type"] != "$scopeinfo"
        ]
        registers = [p for p in placed if p.cell.clock]
        held = [Placed(p.name, p.cell, p.nets, len(numbers) + n) for n, p in enumerate(registers)]
        logic = _in_order([p for p in placed if not p.cell.clock])
        return cls((*held, *logic), ports["input"], ports["output"], len(numbers) + len(held), len(numbers))

    def run(self, operations: Mapping[str, NDArray[Any]]) -> History:
        """Return the values of all nets in every clock cycle, starting from reset.

        `operations` maps each data port to an array of shape (clocks, sequences). The number of sequences must be a
        multiple of 64.
        """
        clocks, sequences = next(iter(operations.values())).shape
        history = np.zeros((clocks, self.nets, sequences // WORD), dtype=np.uint64)
        history[:, 1] = ~np.uint64(0)
        for name, nets in self.inputs.items():
            if name in operations:
                for clock in range(clocks):
                    history[clock, list(nets)] = bit_planes(operations[name][clock], len(nets))
            elif name in _RESETS:
                history[slice(1) if _RESETS[name] else slice(1, None), list(nets)] = ~np.uint64(0)
            elif _CONTROL.get(name):
                history[:, list(nets)] = ~np.uint64(0)
        logic, registers = self.rows()
        run(logic, registers, history)
        return history

    def rows(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return arrays for the simulation kernels: one with a row per cell output, one with a row per register."""
        # A row holds the cell's truth table, number of inputs, output net and input nets.
        logic: list[tuple[int, ...]] = []
        registers: list[tuple[int, ...]] = []
        for p in self.cells:
            inputs = tuple(p.nets[pin] for pin in p.cell.inputs)
            if p.cell.clock:
                registers.append(_row(p.cell.next_bit, inputs, p.bit))
            sources = (p.bit,) if p.cell.clock else inputs
            logic += [_row(table, sources, p.nets[pin]) for pin, table in p.cell.outputs.items() if pin in p.nets]
        shape = (-1, 3 + MOST_INPUTS)
        return np.array(logic, np.uint64).reshape(shape), np.array(registers, np.uint64).reshape(shape)


def toggles(history: History, first: int) -> NDArray[np.int64]:
    """Return how often each net changes between consecutive clock cycles, from clock cycle `first` on."""
    changed: NDArray[np.int64] = np.bitwise_count(history[first:] ^ history[first - 1 : -1]).sum(
        axis=(0, 2), dtype=np.int64
    )
    return changed


def _row(table: tuple[bool, ...], inputs: tuple[int, ...], output: int) -> tuple[int, ...]:
    bits = sum(1 << place for place, value in enumerate(table) if value)
    return (bits, len(inputs), output, *inputs, *([0] * (MOST_INPUTS - len(inputs))))


def _in_order(cells: list[Placed]) -> list[Placed]:
    driver = {p.nets[pin]: n for n, p in enumerate(cells) for pin in p.cell.outputs if pin in p.nets}
    sources = {n: {driver[p.nets[i]] for i in p.cell.inputs if p.nets[i] in driver} for n, p in enumerate(cells)}
    try:
        return [cells[n] for n in TopologicalSorter(sources).static_order()]
    except CycleError as error:
        around = ", ".join(dict.fromkeys(cells[n].name for n in chain(error.args[1])))
        raise ValueError(f"the netlist has a loop of cells ({around}); give a circuit without loops") from None
