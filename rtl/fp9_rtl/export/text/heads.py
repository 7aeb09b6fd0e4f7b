"""Write the comment above a Verilog module: a docstring, and the bit fields of the ports."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from fp9_rtl.export.text.signals import Signal
from fp9_rtl.export.text.types import Enum, Struct, Types, bits_of

_WIDTH = 110
_DOC_WIDTH = 116


def head(doc: str, ports: Sequence[Signal], types: Types) -> list[str]:
    """Return the lines of a module's comment: the docstring, the inputs and the outputs."""
    listed = []
    for title, kind in (("Inputs", "input"), ("Outputs", "output")):
        said = [*_said([port for port in ports if port.kind == kind], types)]
        wrapped = (textwrap.wrap(line, _WIDTH, initial_indent="  ", subsequent_indent="    ") for line in said)
        listed += ["", title, *(line for more in wrapped for line in more)] if said else []
    # A sentence is left out if it names, in backquotes, a port or field that the module does not have.
    lines = _about(doc, frozenset(re.findall(r"\w+", " ".join(listed))))
    return [f"// {line}".rstrip() for line in (*lines, *listed)]


def _about(doc: str, known: frozenset[str]) -> Iterator[str]:
    first, *others = doc.split("\n\n")
    title, *more = _sentences(first)
    kept = [" ".join([title, *_about_ports(more, known)])]
    kept += [other if other.startswith("|") else " ".join(_about_ports(_sentences(other), known)) for other in others]
    for number, paragraph in enumerate(filter(None, kept)):
        yield from [""] if number else []
        yield from paragraph.splitlines() if paragraph.startswith("|") else textwrap.wrap(paragraph, _DOC_WIDTH)


def _sentences(paragraph: str) -> list[str]:
    return re.split(r"(?<=[.])\s+", " ".join(paragraph.split()))


def _about_ports(sentences: Sequence[str], known: frozenset[str]) -> Iterator[str]:
    return (sentence for sentence in sentences if known.issuperset(re.findall(r"`(\w+)`", sentence)))


def _said(ports: Sequence[Signal], types: Types) -> Iterator[str]:
    plain: list[str] = []
    fields: dict[str, list[str]] = {}
    for port in ports:
        if port.origin and _layout(port, types) is None:
            fields.setdefault(port.origin[0], []).append(_ranged(port.origin[1], port))
    told: set[str] = set()
    for port in ports:
        layout = _layout(port, types)
        structure = port.origin[0] if port.origin and len(fields.get(port.origin[0], ())) > 1 else ""
        if layout is None and not structure:
            plain.append(_ranged(port.name, port))
            continue
        if plain:
            yield ", ".join(plain)
            plain = []
        if layout is not None:
            yield f"{_ranged(port.name, port)}: {layout}"
        elif structure not in told:
            told.add(structure)
            yield f"{structure}: {', '.join(fields[structure])}"
    if plain:
        yield ", ".join(plain)


def _ranged(name: str, port: Signal) -> str:
    return f"{name} {port.places}".rstrip()


def _layout(port: Signal, types: Types) -> str | None:
    type_ = port.type or types.of(port.bits)
    if isinstance(type_, Struct):
        return bits_of(type_.fields)
    if isinstance(type_, Enum):
        return ", ".join(f"{value} {choice}" for value, choice in enumerate(type_.choices))
    return None
