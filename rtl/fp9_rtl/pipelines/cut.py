"""Divide a datapath into pipeline stages of equal delay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from fp9_rtl.parts.step import Step
from fp9_rtl.pipelines.cells import Bit
from fp9_rtl.pipelines.expressions import expression
from fp9_rtl.pipelines.netlist import Netlist, Operation, netlist
from fp9_rtl.pipelines.retime import longest_path, place

_Place = tuple[str, int]


class Stage(Step):
    """A pipeline stage: the operations between two registers."""

    def __init__(
        self,
        name: str,
        operations: Sequence[Operation],
        names: Mapping[int, _Place],
        i: data.StructLayout,
        reads: Sequence[Bit],
        o: data.StructLayout,
        gives: Sequence[Bit],
    ) -> None:
        self.name = name
        self._operations, self._names, self._reads, self._gives = operations, names, reads, gives
        super().__init__(i, o)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = self.i.as_value()
        places: dict[Bit, tuple[Value, int]] = {bit: (held, place) for place, bit in enumerate(self._reads)}
        places.update(self._signals())
        for cell in chain.from_iterable(operation.cells for operation in self._operations):
            operands = {port: _joined(places, bits) for port, bits in cell.ports.items() if port != "Y"}
            result = Signal(len(cell.ports["Y"]), name="")
            m.d.comb += result.eq(expression(cell, operands))
            driven: dict[Bit, tuple[Value, int]] = {
                bit: (result, index) for index, bit in enumerate(cell.ports["Y"]) if isinstance(bit, int)
            }
            named = [bit for bit in driven if bit in self._names]
            m.d.comb += _joined(places, named).eq(_joined(driven, named))
            places.update({bit: at for bit, at in driven.items() if bit not in places})
        m.d.comb += self.o.as_value().eq(_joined(places, self._gives))
        return m

    def _signals(self) -> Iterator[tuple[int, tuple[Value, int]]]:
        cells = chain.from_iterable(operation.cells for operation in self._operations)
        driven = [bit for cell in cells for bit in cell.drives if bit in self._names]
        for name, bits in _by_name(driven, self._names).items():
            signal = Signal(len(bits), name=name)
            yield from ((bit, (signal, index)) for index, bit in enumerate(bits))


def _joined(places: Mapping[Bit, tuple[Value, int]], bits: Iterable[Bit]) -> Value:
    parts: list[tuple[Value, int, int]] = []
    for bit in bits:
        value, index = places[bit] if isinstance(bit, int) else (Const(bit == "1", 1), 0)
        if parts and parts[-1][0] is value and parts[-1][2] == index:
            parts[-1] = (value, parts[-1][1], index + 1)
        else:
            parts.append((value, index, index + 1))
    return Cat(value[start:end] for value, start, end in parts)


def _by_name(bits: Iterable[int], names: Mapping[int, _Place]) -> dict[str, list[int]]:
    signals: dict[str, list[int]] = {}
    for bit in sorted(bits, key=lambda bit: names[bit]):
        signals.setdefault(names[bit][0], []).append(bit)
    return signals


def cut(steps: Sequence[Step], stages: int) -> list[list[Step]]:
    """Divide a datapath's logic into `stages` consecutive parts, so that the slowest part is as fast as possible."""
    # Registers can be placed between the parts.
    if stages == 1:
        return [list(steps)]
    circuit = netlist(steps)
    placed = place(circuit, stages)
    names = _all_names(circuit)
    layouts, contents = [steps[0].i.shape()], [list(circuit.inputs)]
    for boundary in range(1, stages):
        signals = _by_name(_crossing(circuit, placed, boundary), names)
        layouts.append(data.StructLayout({name: len(bits) for name, bits in signals.items()}))
        contents.append([bit for bits in signals.values() for bit in bits])
    layouts.append(steps[-1].o.shape())
    contents.append(list(circuit.outputs))
    here = [
        [operation for operation, stage in zip(circuit.operations, placed, strict=True) if stage == number]
        for number in range(1, stages + 1)
    ]
    return [
        [Stage(f"stage{k + 1}", here[k], circuit.names, layouts[k], contents[k], layouts[k + 1], contents[k + 1])]
        for k in range(stages)
    ]


def clock(circuit: Netlist, stages: int) -> int:
    """Return the longest path delay in ps after division into `stages` stages."""
    return longest_path(circuit, place(circuit, stages))


def _crossing(circuit: Netlist, placed: Sequence[int], boundary: int) -> set[int]:
    read = {bit for bit in circuit.outputs if isinstance(bit, int)}
    driven: set[int] = set()
    for operation, stage in zip(circuit.operations, placed, strict=True):
        if stage > boundary:
            read.update(operation.reads)
            driven.update(operation.drives)
    return read - driven


def _all_names(circuit: Netlist) -> dict[int, _Place]:
    names = dict(circuit.names)
    goes_into: dict[int, str] = {}
    taken: dict[str, int] = {}
    for operation in reversed(circuit.operations):
        target = next((names[bit][0] for bit in operation.drives if bit in circuit.names), None)
        target = target or next((goes_into[bit] for bit in operation.drives if bit in goes_into), "result")
        unnamed = [bit for bit in operation.drives if bit not in names]
        if unnamed:
            taken[target] = taken.get(target, 0) + 1
            name = f"before_{target}" if taken[target] == 1 else f"before_{target}_{taken[target]}"
            names.update({bit: (name, place) for place, bit in enumerate(unnamed)})
        goes_into.update({bit: target for bit in operation.reads if bit not in goes_into})
    return names
