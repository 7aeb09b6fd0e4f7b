"""Find a signal name or a Verilog expression for each bit that a module uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from fp9_rtl.export.text import cell_expressions as verilog
from fp9_rtl.export.text.circuits.circuit import Bit, Bits, Cell, nets
from fp9_rtl.export.text.expressions import Atom, Binary, Expression, Repeated
from fp9_rtl.export.text.signals import Signal
from fp9_rtl.export.text.types import Enum


class Reading:
    """Lookup table from each bit to the signal names by which a module can refer to it."""

    def __init__(self, driver: Mapping[Bit, Cell]) -> None:
        self._driver = driver
        self._at: defaultdict[Bit, list[tuple[Signal, int]]] = defaultdict(list)
        self._wholes: defaultdict[Bit, list[Signal]] = defaultdict(list)
        self.home: dict[int, Signal] = {}
        """The signal that holds a cell's value, by the `id` of the cell. Other values are written inline."""
        self.places: set[tuple[int, int]] = set()

    def know(self, signals: Iterable[Signal], bits: Bits | None = None) -> None:
        for signal in signals:
            for place, bit in enumerate(signal.bits):
                if isinstance(bit, int) and (bits is None or bit in bits):
                    self._at[bit].append((signal, place))

    def know_whole(self, signal: Signal) -> None:
        self.know(signal.members)
        self._wholes[signal.bits[0]].append(signal)

    def forget(self, signals: Collection[int]) -> None:
        for bit, at in self._at.items():
            self._at[bit] = [known for known in at if id(known[0]) not in signals]

    def word(self, bits: Bits) -> str:
        if all(isinstance(bit, str) for bit in bits):
            return str(int("".join("1" if bit == "1" else "0" for bit in reversed(bits)), 2))
        at = [self._at[bit][0] for bit in nets(bits) if bit in self._at]
        if len(at) != len(list(nets(bits))) or len({id(signal) for signal, _ in at}) != 1:
            return ""
        signal, place = at[0]
        return signal.word + (f"_{place}" if len(at) == 1 and len(signal.bits) > 1 else "")

    def definition(self, signal: Signal, inside: Iterable[Cell]) -> Expression:
        first = {cell.output[0]: cell for cell in inside}
        parts: list[Expression] = []
        start = 0
        while start < len(signal.bits):
            cell = first.get(signal.bits[start])
            if cell is not None:
                parts.append(self._value(cell))
                start += len(cell.output)
            else:
                part, start = self._part(signal.bits, start)
                parts.append(part)
        return verilog.joined(parts)

    def read(self, bits: Bits) -> Expression:
        parts: list[Expression] = []
        start = 0
        while start < len(bits):
            part, end = self._part(bits, start)
            parts.append(part)
            start = end
        return verilog.joined(parts)

    def choice(self, bits: Bits) -> tuple[Expression, Enum | None]:
        signal = self._whole(bits)
        return self.read(bits), signal.type if signal and isinstance(signal.type, Enum) else None

    def _whole(self, bits: Bits) -> Signal | None:
        return next((signal for signal, _ in self._at.get(bits[0], ()) if signal.bits == bits), None)

    def _value(self, cell: Cell) -> Expression:
        if cell.kind in ("$eq", "$ne", "$is_zero"):
            subject, named = self.choice(cell.inputs["A"])
            label = named and named.label(cell.inputs.get("B", ("0",) * len(cell.inputs["A"])))
            if label:
                return Binary("!=" if cell.kind == "$ne" else "==", (subject, Atom(label)))
        return verilog.expression(cell, self._operand)

    def _operand(self, bits: Bits) -> Expression:
        # A bit of an enumeration type is written as a comparison with the label of the value 1.
        if len(bits) == 1 and isinstance(bits[0], int):
            subject, named = self.choice(bits)
            label = named and named.label(("1",))
            return Binary("==", (subject, Atom(label))) if label else subject
        return self.read(bits)

    def _part(self, bits: Bits, start: int) -> tuple[Expression, int]:
        bit = bits[start]
        if isinstance(bit, str):
            end = start + next((i for i, b in enumerate(bits[start:]) if isinstance(b, int)), len(bits) - start)
            return verilog.fixed(bits[start:end]), end
        cell = self._driver.get(bit)
        times = next((i for i, b in enumerate(bits[start:]) if b != bit), len(bits) - start)
        if cell is not None and id(cell) not in self.home:
            value = self._value(cell)
            if len(cell.output) == 1 and times > 1:
                return Repeated(times, value), start + times
            return value, start + len(cell.output)
        for whole in self._wholes.get(bit, ()):
            if bits[start : start + len(whole.bits)] == whole.bits:
                self.places.update((id(member), i) for member in whole.members for i in range(len(member.bits)))
                return Atom(whole.name), start + len(whole.bits)
        signal, place = self._best(bits, start)
        count = _length(signal.bits[place:], bits[start:])
        self.places.update((id(signal), i) for i in range(place, place + count))
        if times > 1 and times >= count:
            return Repeated(times, Atom(signal.part(place, 1))), start + times
        return Atom(signal.part(place, count)), start + count

    def _best(self, bits: Bits, start: int) -> tuple[Signal, int]:
        return max(self._at[bits[start]], key=lambda at: _length(at[0].bits[at[1] :], bits[start:]))


def _length(a: Bits, b: Bits) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
