"""Put signals into one group if they are fields of one Python structure and pass between the same modules."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fp9_rtl.export.text.circuits.circuit import Bits, Path, nets
from fp9_rtl.export.text.hierarchy import Part
from fp9_rtl.export.text.signals import Sources, clean


@dataclass(frozen=True, eq=False)
class Bundle:
    """Several fields of one structure in the Python source that are passed together between the same modules."""

    place: str
    name: str
    # The field with the lowest bits comes first.
    fields: tuple[tuple[str, Bits], ...]

    @property
    def bits(self) -> Bits:
        return tuple(bit for _, bits in self.fields for bit in bits)

    @property
    def stems(self) -> tuple[str, str]:
        stem = re.sub("^[io]_|[0-9_]*$", "", clean(self.name.rpartition(".")[2]) or "fields")
        return stem, f"{self.place}_{stem}"

    def crosses(self, crossing: Collection[int]) -> bool:
        return sum(not set(nets(bits)).isdisjoint(crossing) for _, bits in self.fields) > 1


@dataclass(frozen=True)
class Crossing:
    """Groups of structure fields at the inputs and outputs of one module."""

    taken: tuple[Bundle, ...] = ()  # inputs
    given: tuple[Bundle, ...] = ()  # outputs


def bundle(top: Part, typed: Collection[Bits]) -> dict[Path, Crossing]:
    given: dict[Path, tuple[Bundle, ...]] = {(): ()}
    every: list[Bundle] = []
    for part in top.walk():
        if part.path:
            inner = [b for child in part.children for b in given[(*part.path, child)] if b.crosses(part.leaving)]
            bundled = {bit for b in every for bit in b.bits}
            made = _made(part, part.leaving - bundled, typed)
            every += made
            given[part.path] = (*inner, *made)
            part.leaving.update(bit for b in inner for bit in nets(b.bits))
    crossing = {}
    for part in top.walk():
        taken = tuple(b for b in every if b.crosses(part.entering))
        part.entering.update(bit for b in taken for bit in nets(b.bits))
        crossing[part.path] = Crossing(taken, given[part.path])
    return crossing


def _made(part: Part, crossing: set[int], typed: Collection[Bits]) -> list[Bundle]:
    sources = part.sources
    runs = list(sources.runs(crossing, "o"))
    count = Counter(name for name, _, _ in runs)
    groups: defaultdict[str, list[tuple[str, Bits]]] = defaultdict(list)
    for name, low, bits in runs:
        if name in sources.field_of and not low and count[name] == 1:
            parent, field = sources.field_of[name]
            groups[parent].append((field, bits))
    alone = {bit for bits in typed for bit in nets(bits)}
    found = []
    for name, fields in groups.items():
        whole = Bundle(part.path[-1], name, _sorted(sources, name, fields))
        rest = tuple(field for field in whole.fields if alone.isdisjoint(field[1]))
        kept = whole if whole.bits in typed else Bundle(whole.place, name, rest)
        found += [kept] if len(kept.fields) > 1 else []
    return found


def _sorted(sources: Sources, name: str, fields: Sequence[tuple[str, Bits]]) -> tuple[tuple[str, Bits], ...]:
    place = {bit: i for i, bit in enumerate(sources.packed.get(name, ()))}
    return tuple(sorted(fields, key=lambda field: place.get(field[1][0], len(place))))
