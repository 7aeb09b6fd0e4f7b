"""Netlists of two-input gates and registers, evaluated for 64 operations or 64 circuit variants at once.

In a netlist without registers, a 64-bit word holds a net's values in 64 independent operations. In a netlist with
registers, each bit of a word holds the net's value in a different variant of the circuit. An input of the netlist
selects the circuit variant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.kernels import kernel

WORD = 64
_BLOCK = 512
"""Number of words that are evaluated together, because their nets fit into the processor's cache."""

AND, OR, XOR, MUX, NOT = range(5)
INVERTED = 8
"""Opcode bit that marks a gate with an inverted output."""
OPCODES = {
    "$_AND_": AND,
    "$_OR_": OR,
    "$_XOR_": XOR,
    "$_NOT_": NOT,
    "$_MUX_": MUX,
    "$_NAND_": AND | INVERTED,
    "$_NOR_": OR | INVERTED,
    "$_XNOR_": XOR | INVERTED,
}
REGISTER = "$_DFF_P_"

Row = tuple[int, int, int, int, int]
"""A gate: its opcode, then the nets at pins A, B, S and Y. A missing pin is 0."""

Planes = NDArray[np.uint64]


@dataclass(frozen=True)
class GateNetlist:
    """A netlist of gates in the order of evaluation."""

    # `gates` has rows (opcode, A, B, S, Y), and `registers` has rows (D, Q).
    gates: NDArray[np.int64]
    registers: NDArray[np.int64]
    # Net 0 is the constant 0, and net 1 is the constant 1.
    nets: int
    # The nets of each port, least significant bit first.
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]

    @classmethod
    def from_json(cls, module: Mapping[str, Any]) -> GateNetlist:
        numbers: dict[int | str, int] = {"0": 0, "1": 1}

        def net(bit: int | str) -> int:
            return 0 if bit == "x" else numbers.setdefault(bit, len(numbers))

        rows: list[Row] = []
        registers: list[tuple[int, int]] = []
        for name, cell in module["cells"].items():
            if cell["type"] == "$scopeinfo":
                continue
            pins = {pin: net(bits[0]) for pin, bits in cell["connections"].items()}
            if cell["type"] == REGISTER:
                registers.append((pins["D"], pins["Q"]))
            elif cell["type"] in OPCODES:
                rows.append((OPCODES[cell["type"]], pins["A"], pins.get("B", 0), pins.get("S", 0), pins["Y"]))
            else:
                raise ValueError(f"cell {name} of type {cell['type']} is no simple gate; map the netlist first")
        ports: dict[str, dict[str, tuple[int, ...]]] = {"input": {}, "output": {}}
        for name, port in module["ports"].items():
            ports[port["direction"]][name] = tuple(net(bit) for bit in port["bits"])
        ordered = np.array(in_order(rows), dtype=np.int64).reshape(-1, 5)
        table = np.array(registers, dtype=np.int64).reshape(-1, 2)
        return cls(ordered, table, len(numbers), ports["input"], ports["output"])

    def mismatches(
        self, inputs: Mapping[str, Planes], expected: Mapping[str, Planes], care: Mapping[str, Planes], count: int
    ) -> int:
        """Return the index of the first operation with a wrong output, or -1.

        All arrays hold bit planes. Output bits whose bit in `care` is 0 are not compared. The netlist must have no
        registers.
        """
        words = (count + WORD - 1) // WORD
        for start in range(0, words, _BLOCK):
            block = slice(start, min(start + _BLOCK, words))
            values = np.zeros((self.nets, block.stop - start), dtype=np.uint64)
            values[1] = ~np.uint64(0)
            for name, nets in self.inputs.items():
                values[list(nets)] = inputs[name][:, block]
            evaluate(self.gates, values)
            wrong = np.zeros(block.stop - start, dtype=np.uint64)
            for name, nets in self.outputs.items():
                wrong |= np.bitwise_or.reduce((values[list(nets)] ^ expected[name][:, block]) & care[name][:, block])
            if wrong.any():
                word = int(np.flatnonzero(wrong)[0])
                bit = (int(wrong[word]) & -int(wrong[word])).bit_length() - 1
                return (start + word) * WORD + bit
        return -1

    def circuits_that_differ(
        self,
        circuits: Mapping[str, Planes],
        inputs: Mapping[str, NDArray[Any]],
        expected: Mapping[str, NDArray[Any]],
        care: Mapping[str, NDArray[np.bool_]],
        latency: int,
    ) -> NDArray[np.bool_]:
        """Return a mask (n,) of the circuit variants that have a wrong output after reset.

        One operation enters in each clock cycle. `circuits` maps the name of each select input to bit planes: bit i of
        plane j is bit j of the select input in circuit variant i.
        """
        words = next(iter(circuits.values())).shape[1]
        values = np.zeros((self.nets, words), dtype=np.uint64)
        values[1] = ~np.uint64(0)
        for name, planes in circuits.items():
            values[list(self.inputs[name])] = planes
        driven = [name for name in inputs if self.inputs.get(name)]
        given = np.concatenate([_rows(inputs[name], len(self.inputs[name])) for name in driven], axis=1)
        shown = list(self.outputs)
        wanted = np.concatenate([_rows(expected[name], len(self.outputs[name])) for name in shown], axis=1)
        matters = np.repeat(
            np.stack([care.get(name, np.ones(len(wanted), np.bool_)) for name in shown], axis=1),
            [len(self.outputs[name]) for name in shown],
            axis=1,
        )
        into = np.array([net for name in driven for net in self.inputs[name]])
        out = np.array([net for name in shown for net in self.outputs[name]])
        wrong = _clocked(self.gates, self.registers, values, into, given, out, wanted, matters, latency)
        return np.unpackbits(wrong.view(np.uint8), bitorder="little").astype(np.bool_)


def in_order(rows: list[Row]) -> list[Row]:
    driver = {row[4]: i for i, row in enumerate(rows)}
    done: set[int] = set()
    order: list[int] = []
    for first in range(len(rows)):
        stack: list[tuple[int, Iterator[int]]] = [(first, _sources(rows[first], driver))] if first not in done else []
        pending = {first}
        while stack:
            gate, sources = stack[-1]
            following = next((s for s in sources if s not in done), None)
            if following is None:
                stack.pop()
                if gate not in done:
                    done.add(gate)
                    order.append(gate)
            elif following in pending:
                raise ValueError("the netlist has a loop of gates; give a combinational netlist")
            else:
                pending.add(following)
                stack.append((following, _sources(rows[following], driver)))
    return [rows[i] for i in order]


def _sources(row: Row, driver: Mapping[int, int]) -> Iterator[int]:
    return iter([driver[net] for net in row[1:4] if net in driver])


@kernel
def evaluate(gates, values):
    """Compute all net values from the input values, in place in the array `values`, shape (nets, words)."""
    for i in range(gates.shape[0]):
        opcode, a, b, s, y = gates[i]
        flip = np.uint64(0xFFFFFFFFFFFFFFFF) if opcode & INVERTED else np.uint64(0)
        kind = opcode & 7
        for w in range(values.shape[1]):
            if kind == AND:
                value = values[a, w] & values[b, w]
            elif kind == OR:
                value = values[a, w] | values[b, w]
            elif kind == XOR:
                value = values[a, w] ^ values[b, w]
            elif kind == MUX:
                value = values[a, w] ^ ((values[a, w] ^ values[b, w]) & values[s, w])
            else:
                value = ~values[a, w]
            values[y, w] = value ^ flip


def bit_planes(column: NDArray[Any], width: int) -> NDArray[np.uint64]:
    """Convert a column of n operand codes to bit planes, shape (width, words).

    The value of operation i is in bit i % 64 of word i // 64. Unused bits are 0.
    """
    count = len(column)
    bits = np.zeros((width, (count + WORD - 1) // WORD * WORD), dtype=np.uint8)
    wide = column if column.dtype == object else column.astype(np.uint64)
    for bit in range(width):
        bits[bit, :count] = (wide >> bit) & 1
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


@kernel
def _clocked(gates, registers, values, into, given, out, wanted, matters, latency):
    # The last operation is repeated until the results of all operations have left the pipeline.
    wrong = np.zeros(values.shape[1], dtype=np.uint64)
    ones = np.uint64(0xFFFFFFFFFFFFFFFF)
    count = given.shape[0]
    taken = np.zeros((registers.shape[0], values.shape[1]), dtype=np.uint64)
    for clock in range(count + latency):
        for i in range(into.shape[0]):
            values[into[i]] = ones if given[min(clock, count - 1), i] else np.uint64(0)
        evaluate(gates, values)
        for i in range(out.shape[0]) if clock >= latency else range(0):
            if matters[clock - latency, i]:
                flip = ones if wanted[clock - latency, i] else np.uint64(0)
                for w in range(values.shape[1]):
                    wrong[w] |= values[out[i], w] ^ flip
        for i in range(registers.shape[0]):
            taken[i] = values[registers[i, 0]]
        for i in range(registers.shape[0]):
            values[registers[i, 1]] = taken[i]
    return wrong


def _rows(column: NDArray[Any], width: int) -> NDArray[np.bool_]:
    return (column.astype(np.uint64)[:, None] >> np.arange(width, dtype=np.uint64) & np.uint64(1)).astype(np.bool_)
