"""A netlist of two-input gates, evaluated on 64 operations a word: fast enough to try hundreds of faulty circuits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

WORD = 64
_BLOCK = 512
"""Words evaluated at once, so that all nets of a block stay in the cache."""

_AND, _OR, _XOR, _MUX, _NOT = range(5)
_INVERTED = 8
_OPCODES = {
    "$_AND_": _AND,
    "$_OR_": _OR,
    "$_XOR_": _XOR,
    "$_NOT_": _NOT,
    "$_MUX_": _MUX,
    "$_NAND_": _AND | _INVERTED,
    "$_NOR_": _OR | _INVERTED,
    "$_XNOR_": _XOR | _INVERTED,
}


@dataclass(frozen=True)
class GateNetlist:
    """Gates in the order of evaluation; net 0 is constant 0, net 1 constant 1.

    `gates` has rows (opcode, A, B, S, Y); `ports` the nets of each port, least significant bit first.
    """

    gates: NDArray[np.int64]
    nets: int
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]

    @classmethod
    def from_json(cls, module: Mapping[str, Any]) -> GateNetlist:
        """The netlist of a module that Yosys' `write_json` wrote; ValueError for a cell that is no simple gate."""
        numbers: dict[int | str, int] = {"0": 0, "1": 1}

        def net(bit: int | str) -> int:
            return 0 if bit == "x" else numbers.setdefault(bit, len(numbers))

        rows: list[tuple[int, ...]] = []
        for name, cell in module["cells"].items():
            if cell["type"] == "$scopeinfo":
                continue
            if cell["type"] not in _OPCODES:
                raise ValueError(f"cell {name} of type {cell['type']} is no simple gate; map the netlist first")
            pins = {pin: net(bits[0]) for pin, bits in cell["connections"].items()}
            rows.append((_OPCODES[cell["type"]], pins["A"], pins.get("B", 0), pins.get("S", 0), pins["Y"]))
        ports: dict[str, dict[str, tuple[int, ...]]] = {"input": {}, "output": {}}
        for name, port in module["ports"].items():
            ports[port["direction"]][name] = tuple(net(bit) for bit in port["bits"])
        return cls(_in_order(rows), len(numbers), ports["input"], ports["output"])

    def mismatches(
        self,
        inputs: Mapping[str, NDArray[np.uint64]],
        expected: Mapping[str, NDArray[np.uint64]],
        care: Mapping[str, NDArray[np.uint64]],
        count: int,
    ) -> int:
        """Index of the first of `count` operations whose outputs differ from the expected where these matter, or -1.

        All arrays hold bit planes, shape (width, words), as `bit_planes` makes them.
        """
        words = (count + WORD - 1) // WORD
        for start in range(0, words, _BLOCK):
            block = slice(start, min(start + _BLOCK, words))
            values = np.zeros((self.nets, block.stop - start), dtype=np.uint64)
            values[1] = ~np.uint64(0)
            for name, nets in self.inputs.items():
                values[list(nets)] = inputs[name][:, block]
            _evaluate(self.gates, values)
            wrong = np.zeros(block.stop - start, dtype=np.uint64)
            for name, nets in self.outputs.items():
                wrong |= np.bitwise_or.reduce((values[list(nets)] ^ expected[name][:, block]) & care[name][:, block])
            if wrong.any():
                word = int(np.flatnonzero(wrong)[0])
                bit = (int(wrong[word]) & -int(wrong[word])).bit_length() - 1
                index = (start + word) * WORD + bit
                return index
        return -1


def _in_order(rows: list[tuple[int, ...]]) -> NDArray[np.int64]:
    """Rows sorted so that every net is driven before it is read; ValueError where they form a loop."""
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
                raise ValueError("the netlist has a loop of gates; only combinational ones can be evaluated")
            else:
                pending.add(following)
                stack.append((following, _sources(rows[following], driver)))
    return np.array([rows[i] for i in order], dtype=np.int64).reshape(-1, 5)


def _sources(row: tuple[int, ...], driver: Mapping[int, int]) -> Iterator[int]:
    return iter([driver[net] for net in row[1:4] if net in driver])


@njit(cache=True, nogil=True)
def _evaluate(gates, values):
    for i in range(gates.shape[0]):
        opcode, a, b, s, y = gates[i]
        flip = np.uint64(0xFFFFFFFFFFFFFFFF) if opcode & _INVERTED else np.uint64(0)
        kind = opcode & 7
        for w in range(values.shape[1]):
            if kind == _AND:
                value = values[a, w] & values[b, w]
            elif kind == _OR:
                value = values[a, w] | values[b, w]
            elif kind == _XOR:
                value = values[a, w] ^ values[b, w]
            elif kind == _MUX:
                value = values[a, w] ^ ((values[a, w] ^ values[b, w]) & values[s, w])
            else:
                value = ~values[a, w]
            values[y, w] = value ^ flip


def bit_planes(column: NDArray[Any], width: int) -> NDArray[np.uint64]:
    """A column of shape (n,) as bits: shape (width, words), operation i in bit i % 64 of word i // 64; the rest 0."""
    count = len(column)
    bits = np.zeros((width, (count + WORD - 1) // WORD * WORD), dtype=np.uint8)
    wide = column.astype(np.uint64)
    for bit in range(width):
        bits[bit, :count] = (wide >> np.uint64(bit)) & np.uint64(1)
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
