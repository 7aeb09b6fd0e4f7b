"""Group Yosys cells into operations. Pipeline registers are placed only between operations."""

# A sum of three numbers is one operation, because synthesis builds it with one carry chain. An increment of a long
# word is divided, so that a register can be placed between its parts.

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Bit = int | str
"""A one-bit net by its number, or a constant as text: `0`, `1` or `x`."""

INCREMENT_BITS = 16

_SUMS = ("$add", "$sub")


@dataclass(frozen=True)
class Cell:
    """A Yosys cell that operates on words."""

    kind: str
    parameters: Mapping[str, int]
    # Bits of each port. Port `Y` is the output.
    ports: Mapping[str, tuple[Bit, ...]]

    @property
    def drives(self) -> tuple[int, ...]:
        return tuple(bit for bit in self.ports["Y"] if isinstance(bit, int))

    @property
    def reads(self) -> tuple[int, ...]:
        bits = itertools.chain.from_iterable(bits for port, bits in self.ports.items() if port != "Y")
        return tuple(dict.fromkeys(bit for bit in bits if isinstance(bit, int)))

    def to_json(self, renamed: Mapping[int, int]) -> dict[str, Any]:
        output = [renamed.get(bit, bit) if isinstance(bit, int) else bit for bit in self.ports["Y"]]
        return {
            "type": self.kind,
            "parameters": {name: f"{value:032b}" for name, value in self.parameters.items()},
            "port_directions": {port: "output" if port == "Y" else "input" for port in self.ports},
            "connections": {**{port: list(bits) for port, bits in self.ports.items()}, "Y": output},
        }


def read_cells(module: Mapping[str, Any]) -> list[list[Cell]]:
    """Return the operations of a module in Yosys' JSON format. Each operation is a list of one or more cells."""
    # In each list, a cell that drives another cell precedes that cell. Pipeline registers are placed only between
    # operations.
    cells = [_cell(cell) for cell in module["cells"].values() if cell["type"] != "$scopeinfo"]
    free = itertools.count(1 + max((bit for cell in cells for bit in (*cell.reads, *cell.drives)), default=0))
    outputs = [bit for port in module["ports"].values() if port["direction"] == "output" for bit in port["bits"]]
    return [
        part
        for operation in _with_inner_sums(cells, outputs)
        for part in ([[p] for p in _increments(operation[0], free)] if len(operation) == 1 else [operation])
    ]


def _cell(cell: Mapping[str, Any]) -> Cell:
    parameters = {name: int(value, 2) for name, value in cell["parameters"].items()}
    return Cell(cell["type"], parameters, {port: tuple(bits) for port, bits in cell["connections"].items()})


def _with_inner_sums(cells: Sequence[Cell], outputs: Sequence[Bit]) -> Iterator[list[Cell]]:
    readers = Counter(bit for cell in cells for bit in cell.reads) + Counter(outputs)
    sums = {cell.ports["Y"]: cell for cell in cells if cell.kind in _SUMS and {readers[b] for b in cell.drives} == {1}}
    inner = {
        id(cell): sums[cell.ports[port]]
        for cell in cells
        for port in "AB"
        if cell.kind in _SUMS and cell.ports[port] in sums
    }
    taken = {id(cell) for cell in inner.values()}
    for cell in cells:
        if id(cell) not in taken:
            operation = [cell]
            while id(operation[0]) in inner:
                operation.insert(0, inner[id(operation[0])])
            yield operation


def _increments(cell: Cell, free: Iterator[int]) -> Iterable[Cell]:
    # Divide the incrementer of a long word into shorter adders, lowest bits first. Each adder has a carry to the
    # next adder.
    y = cell.ports["Y"]
    step = cell.ports.get("B", ())
    top = "0" if len(step) > 1 or not cell.parameters.get("B_SIGNED") else "1"
    if cell.kind != "$add" or len(y) <= INCREMENT_BITS or {*step[1:], top} != {"0"}:
        return [cell]
    a = cell.ports["A"]
    a += (a[-1] if cell.parameters["A_SIGNED"] else "0",) * (len(y) - len(a))
    count = -(-len(y) // INCREMENT_BITS)
    edges = [len(y) * i // count for i in range(count + 1)]
    carry = step[0]
    parts = []
    for low, high in itertools.pairwise(edges):
        last = high == len(y)
        output = y[low:high] if last else (*y[low:high], next(free))
        widths = {"A_WIDTH": high - low, "B_WIDTH": 1, "Y_WIDTH": len(output), "A_SIGNED": 0, "B_SIGNED": 0}
        parts.append(Cell("$add", widths, {"A": a[low:high], "B": (carry,), "Y": output}))
        carry = output[-1]
    return parts
