"""What the head of every text says of a unit: how it is made again, its spec, its ports and their bits."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from importlib.metadata import version

from fp9.formats import FixedFormat, Format
from fp9.units import FLAGS_PORT, Handshake, Port, Unit
from fp9.units.toml import dumps
from fp9_rtl.export.text.types import Fields, bits_of
from fp9_rtl.parts.layouts import fields_layout, flags_layout

_PROVENANCE = """\
{name}: made by fp9 {version}
SPDX-License-Identifier: CC0-1.0
This text is your own: fp9's authors claim no rights in what fp9 generates.

It is made again, to the byte, by
  fp9 {command}
from this {name}.toml:
"""

_LATENCY = {
    Handshake.READY: "Latency is {latency} clocks without back-pressure, throughput one operation a clock.",
    Handshake.VALID: "Latency is {latency} clocks, always; throughput one operation a clock.",
}


def header(unit: Unit, options: str, command: str = "rtl") -> list[str]:
    """Comment lines: the command with its `options` and the spec, what the unit does, and every port with its width,
    meaning and bits."""
    made_by = f"{command} {unit.name}.toml {options}"
    lines = _PROVENANCE.format(name=unit.name, version=version("fp9"), command=made_by).splitlines()
    lines += ["", *(f"  {line}" for line in dumps(unit).splitlines()), ""]
    lines += (inspect.getdoc(type(unit)) or "").partition("\n\n")[0].splitlines()
    if unit.stages:
        lines += ["", _LATENCY[unit.handshake].format(latency=unit.latency)]
        lines += [f"  {port.name}: {port.doc}" for port in unit.control_ports]
    for title, ports in (("Inputs", unit.inputs), ("Outputs", unit.outputs)):
        lines += ["", title, *(line for port in ports for line in _describe(port))]
    return [f"// {line}".rstrip() for line in lines]


def code_fields(port: Port) -> Fields | None:
    """The fields of the codes at a port; None where its codes have none alike."""
    if is_flags(port):
        return tuple((str(name), field.width) for name, field in flags_layout())
    return format_fields(port.formats[0]) if len(port.formats) == 1 and port.formats[0].bits == port.width else None


def is_flags(port: Port) -> bool:
    """Whether a port has the exception flags."""
    return port.doc == FLAGS_PORT.doc


def format_fields(fmt: Format) -> Fields | None:
    """The fields of a format's codes; None where they have no fixed places."""
    if not isinstance(fmt, FixedFormat):
        return None
    padding = (("padding", fmt.padding),)
    fields = (*padding, *((str(name), field.width) for name, field in fields_layout(fmt)))
    return tuple((name, width) for name, width in fields if width)


def _describe(port: Port) -> list[str]:
    """A port as a line, and lines for what its values mean."""
    width = f"[{port.width - 1}:0]" if port.width > 1 else ""
    sign = " (two's complement)" if port.signed else ""
    first = f"  {port.name} {width}".rstrip() + f": {port.doc}{sign}"
    return [first, *(f"    {line}" for more in _meaning(port) for line in textwrap.wrap(more, 100))]


def _meaning(port: Port) -> Iterator[str]:
    """What the values of a port mean, and where their fields lie."""
    if port.choices:
        values = ", ".join(f"{value} {name}" for value, name in enumerate(port.choices))
        yield f"values: {values}; beyond the last: the last"
    elif is_flags(port):
        yield f"bits: {bits_of(code_fields(port) or ())}"
    elif port.formats:
        if port.select:
            yield f"format by {port.select}: {', '.join(fmt.name for fmt in port.formats)}"
        for fmt in port.formats:
            yield f"{fmt.name}: {_places(fmt)}"


def _places(fmt: Format) -> str:
    """The places of a format's fields, or what it says of its bits."""
    fields = format_fields(fmt)
    first = (inspect.getdoc(type(fmt)) or "").partition("\n\n")[0]
    return bits_of(fields) if fields else first.removeprefix(f"{type(fmt).__name__}: ").replace("\n", " ")
