"""Decide for each value of a module whether it becomes a named signal or is written inline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from fp9_rtl.export.text.circuits.circuit import Bits, Cell
from fp9_rtl.export.text.hierarchy import Part
from fp9_rtl.export.text.naming import said
from fp9_rtl.export.text.reading import Reading
from fp9_rtl.export.text.signals import Names, Signal, named_runs, structure, without_repetition
from fp9_rtl.export.text.types import Struct, Types
from fp9_rtl.export.text.uses import Uses


class Module:
    """A module to be written as Verilog: ports, named values, and signals that submodules drive."""

    def __init__(self, part: Part, children: Mapping[str, Module], types: Types | None) -> None:
        self.part, self.children, self._types = part, children, types
        self.names = Names(f"u_{child}" for child in children)
        self._sources = part.sources
        inner = [port for child in children.values() for port in child.pins]
        self.uses = Uses(part, self._sources, inner)
        self.reading = Reading(self.uses.driver)
        self.ports: list[Signal] = []
        self.values: list[Signal] = []
        self.results: dict[str, list[Signal]] = {}
        self._next: dict[Bits, str] = {}

    @property
    def pins(self) -> list[Signal]:
        return [*members(self.ports)]

    @property
    def driven(self) -> set[int]:
        return {id(signal) for results in self.results.values() for signal in members(results)}

    def settle(self, ports: Sequence[Signal]) -> None:
        self.ports += ports
        for port in self.ports:
            if port.kind == "input":
                self._know(port)
        for name, child in self.children.items():
            self.results[name] = [self._result(name, port) for port in child.ports if port.kind == "output"]
        groups: defaultdict[str, list[tuple[int, Cell]]] = defaultdict(list)
        driven = self.driven
        for cell in self.uses.named(port for port in self.pins if port.kind == "output"):
            self._name(cell, groups, driven)
        self._gather(groups)

    def divide(self, loops: set[int]) -> None:
        """Break dependency cycles by splitting signals. Each cell that drives bits of a split signal gets a new signal.

        `loops` holds Python's `id` of each `Signal` object that the method splits.
        """
        home = self.reading.home
        for cell in self.part.cells:
            signal = home.get(id(cell))
            if signal is None or id(signal) not in loops:
                continue
            if signal.kind == "output":
                home[id(cell)] = self._value(Signal(self.names.give(self._said(cell)), cell.output))
                continue
            place = signal.bits.index(cell.output[0]) + signal.low
            (own,) = named_runs([(f"{signal.name}_{place}", 0, cell.output)], self.names, "value")
            home[id(cell)] = self._value(own)
        gone = {id(signal) for signal in self.values if id(signal) in loops}
        self.values = [signal for signal in self.values if id(signal) not in gone]
        self.reading.forget(loops)

    def _know(self, signal: Signal) -> None:
        if signal.members:
            self.reading.know_whole(signal)
        else:
            self.reading.know([signal])

    def _value(self, signal: Signal) -> Signal:
        if self._types is not None and not signal.members:
            signal.take(self._types.of(signal.bits))
        self.values.append(signal)
        self._know(signal)
        return signal

    def _result(self, child: str, port: Signal) -> Signal:
        own = next((p for p in self.ports if p.kind == "output" and p.bits == port.bits), None)
        if own is not None:
            self._know(own)
            return own
        named = (name for name, bits, _ in self._sources.around(port.bits) if bits == port.bits)
        name = next((name for name in named if name[:2] not in ("i_", "o_")), None)
        short = "_".join(without_repetition((child, port.name.removeprefix("o_"))))
        if port.members and isinstance(port.type, Struct):
            return self._value(structure(Signal(self.names.give(short), port.bits), port.type))
        name = name or (short if self.names.free(short) else f"{child}_{port.name}")
        return self._value(Signal(self.names.give(name), port.bits))

    def _name(self, cell: Cell, groups: defaultdict[str, list[tuple[int, Cell]]], driven: set[int]) -> None:
        self._name_in(cell, groups, driven)
        if cell.kind == "$dff":
            update = self.uses.updates[id(cell)]
            values = (*(value for _, value in update.arms), update.otherwise)
            self._next.update({value: f"next_{self.reading.home[id(cell)].name}" for value in values})

    def _name_in(self, cell: Cell, groups: defaultdict[str, list[tuple[int, Cell]]], driven: set[int]) -> None:
        alone = cell.kind == "$dff" or id(cell) in self.uses.cases
        for port in self.pins:
            own = port.bits == cell.output and not port.whole if alone else _holds(port.bits, cell.output)
            if port.kind == "output" and id(port) not in driven and own:
                self.reading.home[id(cell)] = port
                port.is_register = alone
                self.reading.know([port], cell.output)
                return
        around = sorted(self._sources.around(cell.output), key=lambda found: (len(found[1]), len(found[0])))
        found = next(((name, place) for name, bits, place in around if not alone or bits == cell.output), None)
        if found is not None and not alone and len(around[0][1]) != len(cell.output):
            groups[around[0][0]].append((around[0][2], cell))
            return
        name = found[0] if found else None
        name = name or next((name for name, _, _ in around), None) or next(self._sources.within(cell.output), None)
        given = self.names.give(name or self._said(cell))
        self.reading.home[id(cell)] = self._value(Signal(given, cell.output, is_register=alone))

    def _gather(self, groups: Mapping[str, Sequence[tuple[int, Cell]]]) -> None:
        """Combine values into one signal if they are adjacent bits of one Amaranth signal."""
        for name, members in groups.items():
            run: list[tuple[int, Cell]] = []
            runs = [run]
            for place, cell in sorted(members, key=lambda member: member[0]):
                if run and run[-1][0] + len(run[-1][1].output) != place:
                    run = []
                    runs.append(run)
                run.append((place, cell))
            wanted = [(name, run[0][0], tuple(bit for _, cell in run for bit in cell.output)) for run in runs]
            for signal, run in zip(named_runs(wanted, self.names, "value"), runs, strict=True):
                self._value(signal)
                self.reading.home.update({id(cell): signal for _, cell in run})

    def _said(self, cell: Cell) -> str:
        return said(cell, self.reading.word, self.uses.cases.get(id(cell)), self._next.get(cell.output))


def members(signals: Sequence[Signal]) -> Iterator[Signal]:
    for signal in signals:
        yield from signal.members or (signal,)


def _holds(bits: Bits, wanted: Bits) -> bool:
    return wanted[0] in bits and bits[bits.index(wanted[0]) :][: len(wanted)] == wanted
