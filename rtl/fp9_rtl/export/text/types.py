"""SystemVerilog types: enumerations for select ports, and packed structures for fields."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fp9_rtl.export.text.circuits.circuit import Bits, Cell, Circuit, nets, readers
from fp9_rtl.export.text.expressions import INDENT, constant

Fields = tuple[tuple[str, int], ...]
"""Names and widths of the fields, lowest first."""


def bits_of(fields: Fields) -> str:
    """Return fields as text, highest first: `sign [7], exponent [6:3], fraction [2:0]`."""
    said, low = [], 0
    for name, width in fields:
        said.append(f"{name} [{low}]" if width == 1 else f"{name} [{low + width - 1}:{low}]")
        low += width
    return ", ".join(reversed(said))


@dataclass(frozen=True)
class Enum:
    """A SystemVerilog enumeration, whose labels have the values 0, 1, 2 and so on."""

    name: str
    width: int
    choices: tuple[str, ...]
    labels: tuple[str, ...]

    def label(self, bits: Bits) -> str | None:
        if len(bits) != self.width or not all(isinstance(bit, str) for bit in bits):
            return None
        value = int("".join(map(str, reversed(bits))), 2)
        return self.labels[value] if value < len(self.labels) else None

    def declaration(self) -> str:
        values = (constant(f"{value:0{self.width}b}").flat() for value in range(len(self.labels)))
        lines = [f"{INDENT}{label} = {value}" for label, value in zip(self.labels, values, strict=True)]
        return "\n".join([f"typedef enum {_logic(self.width)} {{", ",\n".join(lines), f"}} {self.name};"])


@dataclass(frozen=True)
class Struct:
    """A SystemVerilog packed structure."""

    name: str
    fields: Fields

    def declaration(self) -> str:
        lines = [f"{INDENT}{_logic(width)} {field};" for field, width in reversed(self.fields)]
        return "\n".join(["typedef struct packed {", *lines, f"}} {self.name};"])

    def parts(self, first: int, count: int) -> list[str]:
        found = []
        low = 0
        for field, width in self.fields:
            start, end = max(first, low) - low, min(first + count, low + width) - low
            if start < end:
                at = str(start) if end == start + 1 else f"{end - 1}:{start}"
                found.append(f"{field}" if end - start == width else f"{field}[{at}]")
            low += width
        return found[::-1]


Type = Enum | Struct


class Types:
    """The SystemVerilog types of one circuit's ports and registers."""

    def __init__(self, prefix: str, ports: Mapping[str, Type]) -> None:
        self._prefix, self._ports = prefix, ports
        self._of: dict[Bits, Type] = {}
        self._structs: dict[Fields, Struct] = {port.fields: port for port in ports.values() if isinstance(port, Struct)}

    def find(self, circuit: Circuit) -> None:
        self._of = {port.bits: self._ports[port.name] for port in circuit.ports if port.name in self._ports}
        driver = {cell.output: cell for cell in circuit.cells}
        read = readers(circuit)
        alone = {cell.output: cell for cell in driver.values() if all(read[bit] == 1 for bit in nets(cell.output))}
        left = [cell for cell in circuit.cells if cell.kind == "$dff" and "ARST" not in cell.inputs]
        while found := [cell for cell in left if self._taken(cell, alone) is not None]:
            for cell in found:
                taken = self._taken(cell, alone)
                assert taken is not None
                self._of[cell.output] = taken
            left = [cell for cell in left if cell not in found]

    def _taken(self, register: Cell, alone: Mapping[Bits, Cell]) -> Type | None:
        found: set[Type | None] = set()
        value = register.inputs["D"]
        while (choice := alone.get(value)) is not None and choice.kind == "$mux" and choice.path == register.path:
            found.add(self._of.get(choice.inputs["B"]))
            value = choice.inputs["A"]
        if value != register.output:
            found.add(self._of.get(value))
        return found.pop() if len(found) == 1 else None

    @property
    def typed(self) -> Collection[Bits]:
        return self._of

    def of(self, bits: Bits) -> Type | None:
        return self._of.get(bits)

    def struct(self, stems: Sequence[str], fields: Sequence[tuple[str, int]]) -> Struct:
        """Return the structure type with these fields, which is declared at first use."""
        key = tuple(fields)
        if key not in self._structs:
            taken = {known.name for known in (*self._structs.values(), *self._ports.values())}
            numbered = (f"{stems[-1]}_{number}" for number in itertools.count(2))
            wanted = (f"{self._prefix}_{stem}_t" for stem in itertools.chain(stems, numbered))
            self._structs[key] = Struct(next(name for name in wanted if name not in taken), key)
        return self._structs[key]

    def declarations(self) -> list[str]:
        enums = [port for port in dict.fromkeys(self._ports.values()) if isinstance(port, Enum)]
        known: list[Type] = [*enums, *self._structs.values()]
        return [declared.declaration() for declared in known]


def _logic(width: int) -> str:
    return f"logic [{width - 1}:0]" if width > 1 else "logic"
