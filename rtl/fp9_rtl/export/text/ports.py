"""Choose the ports of a Verilog module: one port per signal or structure in the source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fp9_rtl.export.text.bundles import Bundle, Crossing
from fp9_rtl.export.text.circuits.circuit import Bits, Wire, nets
from fp9_rtl.export.text.hierarchy import Part
from fp9_rtl.export.text.signals import Names, Signal, Sources, clean, named_runs, shorten, structure
from fp9_rtl.export.text.types import Types


def ports(
    part: Part, crossing: Crossing, names: Names, lent: Sequence[Sources], types: Types, typed: bool
) -> list[Signal]:
    sources = part.sources
    found: list[Signal] = []
    structs: dict[Bits, Bundle] = {}
    both = ((part.entering, crossing.taken, "input", "i"), (part.leaving, crossing.given, "output", "o"))
    for every, bundles, kind, prefix in both:
        wanted = every - {bit for bundle in bundles for bit in nets(bundle.bits)}
        runs = [(_local_name(bundle, part.wires), 0, bundle.bits) for bundle in bundles]
        structs.update((bundle.bits, bundle) for bundle in bundles)
        for names_ in (sources, *lent):
            known = {bit for _, _, bits in runs for bit in nets(bits)}
            runs += names_.runs(wanted - known, prefix if names_ is sources else "o")
        packed = next((wire.bits for wire in part.wires if wire.name == prefix), ())
        place = {bit: i for i, bit in enumerate(packed)}
        runs.sort(key=lambda run: place.get(run[2][0], len(place)))
        made = named_runs(runs, names, kind)
        for (name, low, _), port in zip(runs, made, strict=True):
            if port.name == name and port.low == low:  # the port covers the whole field, not only some of its bits
                port.origin = _origin(sources, name)
        found += made
    shorten(found, names, sources)
    for port in found:
        if port.bits in structs:
            bundle = structs[port.bits]
            fields = [(field, len(bits)) for field, bits in bundle.fields]
            structure(port, types.struct(bundle.stems, fields))
        elif typed:
            port.take(types.of(port.bits))
    return found


def _origin(sources: Sources, name: str) -> tuple[str, str] | None:
    parent, field = sources.field_of.get(name, ("", ""))
    called = re.sub("^[io]_(payload_)?", "", clean(parent) or "")
    return (called, field) if called else None


def _local_name(bundle: Bundle, wires: Sequence[Wire]) -> str:
    first = bundle.fields[0][1]
    sources = Sources([wire for wire in wires if wire.bits[: len(first)] == first])
    own = (clean(parent) for parent, _ in sources.field_of.values())
    return next((name for name in own if name), bundle.stems[0])
