"""Write the comment above a Verilog module: a docstring, and the bit fields of the ports."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from fp9_rtl.export.text.signals import Signal
from fp9_rtl.export.text.types import Enum, Struct, Types, bits_of

_WIDTH = 110


def head(doc: str, ports: Sequence[Signal], types: Types) -> list[str]:
    """Return the lines of a module's comment: the docstring, then the inputs, then the outputs."""
    lines = doc.splitlines()
    for title, kind in (("Inputs", "input"), ("Outputs", "output")):
        said = [*_said([port for port in ports if port.kind == kind], types)]
        wrapped = (textwrap.wrap(line, _WIDTH, initial_indent="  ", subsequent_indent="    ") for line in said)
        lines += ["", title, *(line for more in wrapped for line in more)] if said else []
    return [f"// {line}".rstrip() for line in lines]


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
