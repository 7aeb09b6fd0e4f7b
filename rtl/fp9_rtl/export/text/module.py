"""One module: which of its values get a name, which are written where they are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fp9_rtl.export.text import cells as verilog
from fp9_rtl.export.text import source
from fp9_rtl.export.text.cases import Case, Update, case_of, update_of
from fp9_rtl.export.text.circuit import Bit, Bits, Cell, nets, readers_first
from fp9_rtl.export.text.expressions import Atom, Expression, Repeated
from fp9_rtl.export.text.hierarchy import Part
from fp9_rtl.export.text.signals import Names, Signal, Sources, named_runs, shorten

_NAMED_LEAVES, _UNNAMED_LEAVES = 5, 16
"""Most operands of an expression that is written into another one, where the source names it and where not."""

_WORDS = {
    "$and": "{a}_and_{b}",
    "$or": "{a}_or_{b}",
    "$xor": "{a}_xor_{b}",
    "$not": "not_{a}",
    "$neg": "minus_{a}",
    "$add": "{a}_plus_{b}",
    "$sub": "{a}_minus_{b}",
    "$mul": "{a}_times_{b}",
    "$eq": "{a}_is_{b}",
    "$ne": "{a}_is_not_{b}",
    "$lt": "{a}_below_{b}",
    "$le": "{a}_at_most_{b}",
    "$gt": "{a}_above_{b}",
    "$ge": "{a}_at_least_{b}",
    "$is_zero": "{a}_is_zero",
    "$reduce_or": "any_{a}",
    "$reduce_and": "all_{a}",
    "$reduce_xor": "parity_of_{a}",
    "$shl": "{a}_shifted",
    "$shr": "{a}_shifted",
}
_LONGEST_NAME = 40


@dataclass(eq=False)
class Module:
    """A module as it will be written: ports, named values and what defines them."""

    part: Part
    children: Mapping[str, Module]
    ports: list[Signal] = field(default_factory=list)
    values: list[Signal] = field(default_factory=list)
    home: dict[int, Signal] = field(default_factory=dict)
    """The signal that a cell's value lies in, by `id` of the cell; the others are written where they are read."""
    results: dict[str, list[Signal]] = field(default_factory=dict)
    """By submodule the signals that its outputs drive, in the order of its outputs."""
    cases: dict[int, Case] = field(default_factory=dict)

    updates: dict[int, Update] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = Names(f"u_{child}" for child in self.children)
        self.sources = Sources(self.part.wires)
        self._next: dict[Bits, str] = {}
        self._reading = Counter(bit for cell in self.part.cells for bits in cell.inputs.values() for bit in nets(bits))
        self._reading.update(bit for child in self.children.values() for port in child.ports for bit in nets(port.bits))
        self.driver: dict[Bit, Cell] = {bit: cell for cell in self.part.cells for bit in nets(cell.output)}
        self.read_places: set[tuple[int, int]] = set()
        self._at: defaultdict[Bit, list[tuple[Signal, int]]] = defaultdict(list)

    # --- ports -------------------------------------------------------------------------------------------------------

    def add_ports(self, lent: Sequence[Sources]) -> None:
        """Ports for what enters and leaves; `lent` names what has no name here, the first before others."""
        for wanted, kind, prefix in ((self.part.entering, "input", "i"), (self.part.leaving, "output", "o")):
            runs = list(self.sources.runs(wanted, prefix))
            for names in lent:
                runs += names.runs(wanted - {bit for _, _, bits in runs for bit in nets(bits)}, "o")
            packed = next((wire.bits for wire in self.part.wires if wire.name == prefix), ())
            place = {bit: i for i, bit in enumerate(packed)}
            runs.sort(key=lambda run: place.get(run[2][0], len(place)))
            self.ports += named_runs(runs, self.names, kind)
        shorten(self.ports, self.names, self.sources)

    # --- what is named ----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Decide what gets a name, and which."""
        self.cases = {id(cell): case for cell in self.part.cells if (case := case_of(cell, self.driver)) is not None}
        registers = (cell for cell in self.part.cells if cell.kind == "$dff")
        self.updates = {id(cell): update_of(cell, self.driver, self._is_alone) for cell in registers}
        self._know(port for port in self.ports if port.kind == "input")
        for name, child in self.children.items():
            self.results[name] = [self._result(name, port) for port in child.ports if port.kind == "output"]
        references = self._references()
        leaves: dict[int, int] = {}
        groups: defaultdict[str, list[tuple[int, Cell]]] = defaultdict(list)
        for cell in sorted(self.part.cells, key=lambda cell: cell.kind != "$dff"):
            if references[id(cell)] and not self._is_inline(cell, references[id(cell)], leaves):
                self._name(cell, groups)
        self._gather(groups)

    def _result(self, child: str, port: Signal) -> Signal:
        """The signal that an output of a submodule drives."""
        own = next((p for p in self.ports if p.kind == "output" and p.bits == port.bits), None)
        if own is not None:
            self._know([own])
            return own
        named = (name for name, bits, _ in self.sources.around(port.bits) if bits == port.bits)
        name = next((name for name in named if name[:2] not in ("i_", "o_")), f"{child}_{port.name}")
        return self._value(Signal(self.names.give(name), port.bits))

    def _is_alone(self, cell: Cell) -> bool:
        """Whether one reader in this module is all that reads a cell's value."""
        stays = self.part.leaving.isdisjoint(nets(cell.output))
        return stays and all(self._reading[bit] == 1 for bit in nets(cell.output))

    def _references(self) -> Counter[int]:
        """How often every cell's value is read; a value that is not read whole counts as read more than once."""
        count: Counter[int] = Counter()
        for port in self.ports:
            if port.kind == "output":
                self._refer(port.bits, count)
        for child in self.children.values():
            for port in child.ports:
                if port.kind == "input":
                    self._refer(port.bits, count, 2)
        for cell in readers_first(self.part.cells):
            if cell.kind == "$dff" or count[id(cell)]:
                for bits in self._reads(cell):
                    self._refer(bits, count)
        return count

    def _reads(self, cell: Cell) -> Iterator[Bits]:
        """The bits that a cell's text reads."""
        case, update = self.cases.get(id(cell)), self.updates.get(id(cell))
        if update is not None:
            yield from (bits for arm in update.arms for bits in arm)
            yield from () if update.holds else (update.otherwise,)
        elif case is None:
            for port, bits in cell.inputs.items():
                if port != "CLK":
                    width = len(cell.output) if cell.kind == "$pmux" and port == "B" else len(bits)
                    width = 1 if cell.kind == "$pmux" and port == "S" else width
                    yield from (bits[i : i + width] for i in range(0, len(bits), width))
        else:
            yield from (case.subject, *(value for _, value in case.arms), case.otherwise)

    def _refer(self, bits: Bits, count: Counter[int], weight: int = 1) -> None:
        for cell, run in self._runs(bits):
            whole = run == cell.output or (len(cell.output) == 1 and {*run} == {*cell.output})
            count[id(cell)] += weight if whole else 2

    def _runs(self, bits: Bits) -> Iterator[tuple[Cell, Bits]]:
        """Bits by the cells that drive them; what no cell here drives is left out."""
        start = 0
        while start < len(bits):
            cell = self.driver.get(bits[start]) if isinstance(bits[start], int) else None
            end = start + 1
            if cell is not None:
                place = cell.output.index(bits[start])
                step = 0 if len(cell.output) == 1 else 1
                while end < len(bits) and bits[end : end + 1] == cell.output[place + step * (end - start) :][:1]:
                    end += 1
                yield cell, bits[start:end]
            start = end

    def _is_inline(self, cell: Cell, references: int, leaves: dict[int, int]) -> bool:
        """Whether a value is written where it is read: once and short, or the inversion of a named bit."""
        below = 0
        for bits in self._reads(cell):
            inner = [leaves[id(c)] for c, run in self._runs(bits) if id(c) in leaves and len(run) == len(c.output)]
            below += sum(inner) if inner else 1
        leaves[id(cell)] = below
        is_source = any(True for _ in self.sources.around(cell.output))
        if cell.kind == "$not" and len(cell.output) == 1 and not is_source and below == 1:
            inverts_name = not any(id(c) in leaves for c, _ in self._runs(cell.inputs["A"]))
            if inverts_name:
                return True
        below += cell.kind == "$mux" and len(cell.output) > 1
        short = below <= (_NAMED_LEAVES if is_source else _UNNAMED_LEAVES)
        if references == 1 and short and cell.kind != "$dff" and id(cell) not in self.cases:
            return True
        del leaves[id(cell)]
        return False

    # --- names -------------------------------------------------------------------------------------------------------

    def _name(self, cell: Cell, groups: defaultdict[str, list[tuple[int, Cell]]]) -> None:
        """A name for a cell's value: an output's, the source's, or what it says of its operands."""
        self._name_in(cell, groups)
        if cell.kind == "$dff":
            update = self.updates[id(cell)]
            values = (*(value for _, value in update.arms), update.otherwise)
            self._next.update({value: f"next_{self.home[id(cell)].name}" for value in values})

    def _name_in(self, cell: Cell, groups: defaultdict[str, list[tuple[int, Cell]]]) -> None:
        alone = cell.kind == "$dff" or id(cell) in self.cases
        driven = {id(signal) for results in self.results.values() for signal in results}
        for port in self.ports:
            own = port.bits == cell.output if alone else _holds(port.bits, cell.output)
            if port.kind == "output" and id(port) not in driven and own:
                self.home[id(cell)] = port
                port.is_register = alone
                self._know([port], cell.output)
                return
        around = sorted(self.sources.around(cell.output), key=lambda found: (len(found[1]), len(found[0])))
        found = next(((name, place) for name, bits, place in around if not alone or bits == cell.output), None)
        if found is not None and not alone and len(around[0][1]) != len(cell.output):
            groups[around[0][0]].append((around[0][2], cell))
            return
        name = found[0] if found else None
        name = name or next((name for name, _, _ in around), None) or next(self.sources.within(cell.output), None)
        given = self.names.give(name or self._said(cell))
        self.home[id(cell)] = self._value(Signal(given, cell.output, is_register=alone))

    def _gather(self, groups: Mapping[str, Sequence[tuple[int, Cell]]]) -> None:
        """Values that lie side by side under one name of the source as one signal."""
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
                self.home.update({id(cell): signal for _, cell in run})

    def divide(self, loops: set[int]) -> None:
        """Give each value of these signals a signal of its own."""
        for cell in self.part.cells:
            signal = self.home.get(id(cell))
            if signal is None or id(signal) not in loops:
                continue
            if signal.kind == "output":
                self.home[id(cell)] = self._value(Signal(self.names.give(self._said(cell)), cell.output))
                continue
            place = signal.bits.index(cell.output[0]) + signal.low
            (own,) = named_runs([(f"{signal.name}_{place}", 0, cell.output)], self.names, "value")
            self.home[id(cell)] = self._value(own)
        gone = {id(signal) for signal in self.values if id(signal) in loops}
        self.values = [signal for signal in self.values if id(signal) not in gone]
        for bit, at in self._at.items():
            self._at[bit] = [known for known in at if id(known[0]) not in loops]

    def _said(self, cell: Cell) -> str:
        """A name from the source's local one, or from the operands."""
        name = source.value_name(cell.source, cell.kind) or self._next.get(cell.output)
        if name is None and cell.kind in _WORDS:
            words = [self._word(bits) for bits in cell.inputs.values()]
            said = _WORDS[cell.kind].format(a=words[0], b=words[-1])
            name = said if all(words) and len(said) <= _LONGEST_NAME else None
        case = self.cases.get(id(cell))
        by = f"by_{self._word(case.subject)}" if case and self._word(case.subject) else ""
        return name or f"{source.context_name(cell.source) or 'value'}_{by or 'term'}"

    def _word(self, bits: Bits) -> str:
        """Operand bits in a word: a signal's name, a number, or nothing."""
        if all(isinstance(bit, str) for bit in bits):
            return str(int("".join("1" if bit == "1" else "0" for bit in reversed(bits)), 2))
        at = [self._at[bit][0] for bit in nets(bits) if bit in self._at]
        if len(at) != len(list(nets(bits))) or len({id(signal) for signal, _ in at}) != 1:
            return ""
        return at[0][0].name + (f"_{at[0][1]}" if len(at) == 1 and len(at[0][0].bits) > 1 else "")

    # --- reading -----------------------------------------------------------------------------------------------------

    def _value(self, signal: Signal) -> Signal:
        self.values.append(signal)
        self._know([signal])
        return signal

    def _know(self, signals: Iterable[Signal], bits: Bits | None = None) -> None:
        """Read these signals for their bits from now on; of an output only for those that it is the home of."""
        for signal in signals:
            for place, bit in enumerate(signal.bits):
                if isinstance(bit, int) and (bits is None or bit in bits):
                    self._at[bit].append((signal, place))

    def read(self, bits: Bits) -> Expression:
        """Bits as this module writes them."""
        parts: list[Expression] = []
        start = 0
        while start < len(bits):
            part, end = self._part(bits, start)
            parts.append(part)
            start = end
        return verilog.joined(parts)

    def _part(self, bits: Bits, start: int) -> tuple[Expression, int]:
        """The longest part from a place on that is one thing, and where it ends."""
        bit = bits[start]
        if isinstance(bit, str):
            end = start + next((i for i, b in enumerate(bits[start:]) if isinstance(b, int)), len(bits) - start)
            return verilog.fixed(bits[start:end]), end
        cell = self.driver.get(bit)
        times = next((i for i, b in enumerate(bits[start:]) if b != bit), len(bits) - start)
        if cell is not None and id(cell) not in self.home:
            value = verilog.expression(cell, self.read)
            if len(cell.output) == 1 and times > 1:
                return Repeated(times, value), start + times
            return value, start + len(cell.output)
        signal, place = self._best(bits, start)
        count = _length(signal.bits[place:], bits[start:])
        self.read_places.update((id(signal), i) for i in range(place, place + count))
        if times > 1 and times >= count:
            return Repeated(times, Atom(signal.part(place, 1))), start + times
        return Atom(signal.part(place, count)), start + count

    def _best(self, bits: Bits, start: int) -> tuple[Signal, int]:
        return max(self._at[bits[start]], key=lambda at: _length(at[0].bits[at[1] :], bits[start:]))

    def definition(self, signal: Signal, inside: Iterable[Cell]) -> Expression:
        """What drives a signal: the cells inside it as expressions, the rest as it is read elsewhere."""
        first = {cell.output[0]: cell for cell in inside}
        parts: list[Expression] = []
        start = 0
        while start < len(signal.bits):
            cell = first.get(signal.bits[start])
            if cell is not None:
                parts.append(verilog.expression(cell, self.read))
                start += len(cell.output)
            else:
                part, start = self._part(signal.bits, start)
                parts.append(part)
        return verilog.joined(parts)


def _holds(bits: Bits, wanted: Bits) -> bool:
    """Whether bits hold others side by side."""
    return wanted[0] in bits and bits[bits.index(wanted[0]) :][: len(wanted)] == wanted


def _length(a: Bits, b: Bits) -> int:
    """How many bits two runs have in common from their start."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
