"""Named signals of a module: its ports, and the values that several cells read."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fp9.units.reserved import VERILOG
from fp9_rtl.export.text.circuits.circuit import Bit, Bits, Path, Wire
from fp9_rtl.export.text.types import Struct, Type


@dataclass(eq=False)
class Signal:
    """A named vector of bits."""

    name: str
    bits: Bits
    kind: str = "value"
    low: int = 0  # index of the lowest bit in the Verilog text
    is_register: bool = False
    type: Type | None = None
    whole: Signal | None = None
    origin: tuple[str, str] | None = None
    members: tuple[Signal, ...] = ()

    def take(self, type: Type | None) -> None:
        self.type = type
        self.low = 0 if type else self.low

    @property
    def range(self) -> str:
        return self.places if self.type is None else self.type.name

    @property
    def places(self) -> str:
        return "" if len(self.bits) == 1 and not self.low else f"[{self.low + len(self.bits) - 1}:{self.low}]"

    @property
    def word(self) -> str:
        return self.name.replace(".", "_")

    def part(self, first: int, count: int) -> str:
        """Return Verilog text that reads `count` bits from bit `first`."""
        if count == len(self.bits):
            return self.name
        if isinstance(self.type, Struct):
            parts = [f"{self.name}.{part}" for part in self.type.parts(first, count)]
            return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"
        first += self.low
        return f"{self.name}[{first}]" if count == 1 else f"{self.name}[{first + count - 1}:{first}]"


def structure(whole: Signal, struct: Struct) -> Signal:
    members, low = [], 0
    for field, width in struct.fields:
        members.append(Signal(f"{whole.name}.{field}", whole.bits[low : low + width], whole.kind, whole=whole))
        low += width
    whole.type, whole.members = struct, tuple(members)
    return whole


class Names:
    """The names in use in one Verilog module."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*VERILOG, *taken}

    def give(self, wanted: str) -> str:
        """Reserve and return a unique name that equals or resembles the wanted name."""
        wanted = wanted if wanted[:1].isalpha() else f"value_{wanted.lstrip('_')}"
        name = next(n for n in itertools.chain([wanted], (f"{wanted}_{i}" for i in itertools.count(2))) if self.free(n))
        self._taken.add(name)
        return name

    def free(self, name: str) -> bool:
        return name not in self._taken

    def rename(self, old: str, new: str) -> None:
        self._taken.remove(old)
        self._taken.add(new)


@functools.lru_cache(maxsize=1 << 14)
def clean(name: str) -> str | None:
    """Return a source name as a Verilog name, or None if Amaranth generated the name."""
    if name.startswith(("port$", "$")):
        return None
    name = re.sub(r"\$\d+$", "", name.replace(".", "_"))
    name = re.sub(r"\$\d+_", "_", name)
    name = re.sub(r"\W", "_", re.sub(r"__+", "_", name)).rstrip("_")
    return name if re.match(r"[A-Za-z]", name) else None


@functools.lru_cache(maxsize=1 << 14)
def _field(name: str) -> tuple[str, str] | None:
    """Split a dotted source name into structure and field."""
    parent, _, field = name.rpartition(".")
    called = clean(field)
    if called is None or called in VERILOG or re.fullmatch(r"([io](\$\d+)?)?", parent):
        return None
    return parent, called


def without_repetition(path: Path) -> Path:
    """Drop each name of a path that is a prefix of the next name: `decode.decode_a` becomes `decode_a`."""
    return tuple(name for name, after in itertools.pairwise((*path, "")) if not f"{after}_".startswith(f"{name}_"))


def _without_interface(name: str) -> str:
    return re.sub(r"(?<=\w)_[io]_(?=[A-Za-z])", "_", name)


def _short_field(field: str, name: str, wire: Wire) -> str:
    return field if name == clean(wire.name) else _without_interface(field)


def _shortened(named: Sequence[tuple[str | None, Wire]]) -> list[tuple[str | None, Wire]]:
    """Shorten names: `align.o.smaller` becomes `align_smaller`, and `decode.decode_a` becomes `decode_a`."""
    # If two names would become equal, as `add_i_nan` and `add_o_nan`, neither is shortened.
    names = (clean(".".join(without_repetition(tuple(wire.name.split("."))))) or name for name, wire in named)
    short = [name and _without_interface(name) for name in names]
    meant: defaultdict[str | None, set[Bits]] = defaultdict(set)
    for wanted, (name, wire) in zip(short, named, strict=True):
        for each in {wanted, name}:
            meant[each].add(wire.bits)
    return [
        (wanted if len(meant[wanted]) == 1 else name, wire) for wanted, (name, wire) in zip(short, named, strict=True)
    ]


class Sources:
    """Names from the Python source for signals of one module."""

    def __init__(self, wires: Sequence[Wire]) -> None:
        packed = {wire.name.rpartition(".")[0] for wire in wires}
        # Wires that name a whole structure are left out, so that each name denotes a single field.
        named = _shortened([(clean(wire.name), wire) for wire in wires if wire.name not in packed])
        self.wires = [(name, wire.bits) for name, wire in named if name is not None]
        self.packed = {wire.name: wire.bits for wire in wires if wire.name in packed}
        fields = ((name, wire, _field(wire.name)) for name, wire in named if name is not None)
        self.field_of = {name: (at[0], _short_field(at[1], name, wire)) for name, wire, at in fields if at}
        self._holding: defaultdict[Bit, list[int]] = defaultdict(list)
        for number, (_, bits) in enumerate(self.wires):
            for bit in dict.fromkeys(bits):
                if isinstance(bit, int):
                    self._holding[bit].append(number)

    def holding(self, bit: Bit) -> Iterator[tuple[str, Bits]]:
        return (self.wires[number] for number in self._holding.get(bit, ()))

    def around(self, bits: Bits) -> Iterator[tuple[str, Bits, int]]:
        for name, held in self.holding(bits[0]):
            place = held.index(bits[0])
            if held[place : place + len(bits)] == bits:
                yield name, held, place

    def within(self, bits: Bits) -> Iterator[str]:
        found = [(n, held) for n, held in self.holding(bits[0]) if held == bits[: len(held)]]
        return (name for name, _ in sorted(found, key=lambda found: -len(found[1])))

    def runs(self, wanted: Collection[int], first: str) -> Iterator[tuple[str, int, Bits]]:
        """Yield runs of adjacent bits that share a source name, as (name, lowest bit index, bits)."""
        left = set(wanted)
        holding = sorted({number for bit in left for number in self._holding.get(bit, ())})
        some = (self.wires[number] for number in holding)
        for name, bits in sorted(some, key=lambda wire: (not wire[0].startswith(first), len(wire[0]), wire[0])):
            if left.isdisjoint(bits):
                continue
            for index, run in _stretches(bits, left):
                left.difference_update(bit for bit in run if isinstance(bit, int))
                yield name, index, run


def _stretches(bits: Bits, wanted: set[int]) -> list[tuple[int, Bits]]:
    found: list[tuple[int, list[Bit]]] = []
    seen: set[Bit] = set()
    for index, bit in enumerate(bits):
        if bit not in wanted or bit in seen:
            continue
        seen.add(bit)
        if found and found[-1][0] + len(found[-1][1]) == index:
            found[-1][1].append(bit)
        else:
            found.append((index, [bit]))
    return [(index, tuple(run)) for index, run in found]


def named_runs(runs: Sequence[tuple[str, int, Bits]], names: Names, kind: str) -> list[Signal]:
    """Return one named signal for each entry (name, lowest bit index, bits) of `runs`."""
    shared = {name for name, group in itertools.groupby(sorted(name for name, _, _ in runs)) if len(list(group)) > 1}
    signals = []
    for name, low, bits in runs:
        if name in shared or (len(bits) == 1 and low):
            name = f"{name}_{low + len(bits) - 1}_{low}" if len(bits) > 1 else f"{name}_{low}"
            low = 0
        signals.append(Signal(names.give(name), bits, kind, low))
    return signals


def shorten(signals: Sequence[Signal], names: Names, sources: Sources) -> None:
    """Remove the prefix `i_` or `o_` from a port name if no other signal of the module has the shortened name."""
    short = Counter(signal.name[2:] for signal in signals if signal.name[:2] in ("i_", "o_"))
    inner: defaultdict[str, set[Bits]] = defaultdict(set)
    for name, bits in sources.wires:
        inner[name].add(bits)
    for signal in signals:
        wanted = signal.name[2:]
        single = short[wanted] == 1 and inner[wanted] <= {signal.bits}
        if signal.name[:2] in ("i_", "o_") and single and names.free(wanted) and wanted[:1].isalpha():
            names.rename(signal.name, wanted)
            signal.name = wanted
