"""Divide a circuit into the modules of its Python source."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fp9_rtl.export.text.circuits.circuit import (
    BITWISE,
    SHARED,
    Bit,
    Bits,
    Cell,
    Circuit,
    Path,
    Wire,
    nets,
    readers,
    readers_first,
)
from fp9_rtl.export.text.signals import Sources, without_repetition


@dataclass
class Part:
    """A module of the circuit."""

    path: Path
    cells: list[Cell] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    children: dict[str, Part] = field(default_factory=dict)
    entering: set[int] = field(default_factory=set)
    leaving: set[int] = field(default_factory=set)

    @cached_property
    def sources(self) -> Sources:
        return Sources(self.wires)

    def walk(self, children_first: bool = True) -> Iterator[Part]:
        if not children_first:
            yield self
        for child in self.children.values():
            yield from child.walk(children_first)
        if children_first:
            yield self


def parts(circuit: Circuit, order: Iterable[Path]) -> Part:
    """Return the top module, with its submodules in the given order."""
    top = Part(())
    every: dict[Path, Part] = {(): top}
    place = {path: number for number, path in enumerate(order)}
    for cell in sorted(circuit.cells, key=lambda cell: place.get(cell.path, len(place))):
        for depth in range(1, len(cell.path) + 1):
            path = cell.path[:depth]
            if path not in every:
                every[path] = every[path[:-1]].children[path[-1]] = Part(path)
    for cell in circuit.cells:
        every[cell.path].cells.append(cell)
    for wire in circuit.wires:
        if wire.path in every:
            every[wire.path].wires.append(wire)
    _cross(circuit, every)
    return top


def _cross(circuit: Circuit, every: dict[Path, Part]) -> None:
    drivers = {bit: cell.path for cell in circuit.cells for bit in nets(cell.output)}
    reading: defaultdict[int, set[Path]] = defaultdict(set)
    for cell in circuit.cells:
        for bits in cell.inputs.values():
            for bit in nets(bits):
                reading[bit].add(cell.path)
    for port in circuit.ports:
        if not port.is_input:
            for bit in nets(port.bits):
                reading[bit].add(())
    for bit, paths in reading.items():
        driver = drivers.get(bit, ())
        for path in paths:
            common = _common(driver, path)
            for depth in range(common + 1, len(path) + 1):
                every[path[:depth]].entering.add(bit)
            for depth in range(common + 1, len(driver) + 1):
                every[driver[:depth]].leaving.add(bit)


def _common(a: Path, b: Path) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def without_wrappers(circuit: Circuit, docs: Mapping[Path, str]) -> tuple[Circuit, dict[Path, str]]:
    """Remove each module that holds nothing but one submodule of the same name."""
    inside: defaultdict[Path, set[str]] = defaultdict(set)
    for cell in circuit.cells:
        for depth in range(len(cell.path)):
            inside[cell.path[:depth]].add(cell.path[depth])
    holding = {cell.path for cell in circuit.cells}
    wrappers = {path for path, names in inside.items() if path and names == {path[-1]} and path not in holding}

    def shorter(path: Path) -> Path:
        return tuple(name for depth, name in enumerate(path) if path[:depth] not in wrappers)

    found: dict[Path, str] = {}
    for path, doc in docs.items():
        found[shorter(path)] = found.get(shorter(path)) or doc
    cells = [replace(cell, path=shorter(cell.path)) for cell in circuit.cells]
    wires = [replace(wire, path=shorter(wire.path)) for wire in circuit.wires]
    return Circuit(cells, wires, circuit.ports), found


def flattened(circuit: Circuit) -> Circuit:
    """Return the circuit as one module, with submodule names as prefixes of signal names."""
    wires = [
        replace(wire, path=(), name="_".join(without_repetition((*wire.path, wire.name)))) for wire in circuit.wires
    ]
    return Circuit([replace(cell, path=()) for cell in circuit.cells], wires, circuit.ports)


def split_structures(circuit: Circuit) -> None:
    fields = _fields(circuit.wires)
    read = readers(circuit)
    places: dict[int, list[Sequence[int]]] = {}
    driver = {bit: (cell, i) for cell in circuit.cells for i, bit in enumerate(cell.output)}
    for cell in readers_first(circuit.cells):
        if cell.kind not in BITWISE or cell.kind == "$pmux":
            continue
        cuts = places.get(id(cell)) or _cuts(cell.output, fields[cell.path])
        if len(cuts) < 2 and cell.kind != "$dff":
            continue
        places[id(cell)] = cuts = cuts or [range(len(cell.output))]
        for port, bits in cell.inputs.items():
            if port not in SHARED.get(cell.kind, ()):
                for behind, inner in _behind([[bits[i] for i in cut] for cut in cuts], driver):
                    if behind.path == cell.path and all(read[bit] == 1 for bit in nets(behind.output)):
                        places.setdefault(id(behind), inner)
    circuit.cells = [
        part
        for cell in circuit.cells
        for part in ([cell.places(kept) for kept in places[id(cell)]] if id(cell) in places else [cell])
    ]


def _behind(
    parts: Iterable[Sequence[Bit]], driver: Mapping[Bit, tuple[Cell, int]]
) -> Iterator[tuple[Cell, list[Sequence[int]]]]:
    found: dict[int, tuple[Cell, list[Sequence[int]]]] = {}
    for bits in parts:
        at = [driver.get(bit) for bit in bits]
        if at[0] is not None and all(place is not None and place[0] is at[0][0] for place in at):
            places = [place[1] for place in at if place is not None]
            found.setdefault(id(at[0][0]), (at[0][0], []))[1].append(places)
    for cell, cuts in found.values():
        whole = sorted(place for cut in cuts for place in cut) == list(range(len(cell.output)))
        if whole and cell.kind in BITWISE - {"$pmux", "$dff"}:
            yield cell, cuts


Fields = dict[int, dict[int, Wire]]


def _fields(wires: Iterable[Wire]) -> defaultdict[Path, Fields]:
    packed = {(wire.path, wire.name.rpartition(".")[0]) for wire in wires}
    found: defaultdict[Path, Fields] = defaultdict(dict)
    for number, wire in enumerate(wires):
        if (wire.path, wire.name) not in packed:
            for bit in nets(wire.bits):
                found[wire.path].setdefault(bit, {})[number] = wire
    return found


def _cuts(output: Bits, fields: Fields) -> list[Sequence[int]]:
    # If all bits belong to one field, or to no field, nothing is cut.
    place = {bit: i for i, bit in enumerate(output)}
    holding = {number: wire for bit in nets(output) for number, wire in fields.get(bit, {}).items()}
    held = [[place[bit] for bit in holding[number].bits if bit in place] for number in sorted(holding)]
    whole = [run for run in held if len(run) == len(output)]
    if whole or not held:
        return []
    owner: dict[int, int] = {}
    for number, run in enumerate(held):
        for i in run:
            owner.setdefault(i, number)
    cuts = itertools.groupby(range(len(output)), key=lambda i: owner.get(i, -1))
    return [list(run) for _, run in cuts]
