"""Convert components to RTLIL, the text format that Yosys reads."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Fragment, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

WITHOUT_PROCESSES = """\
read_rtlil unit.il
proc
flatten -separator _
pmuxtree
opt_expr
wreduce
"""
"""Yosys script that converts `unit.il` to one flat module without processes.

A process over constants, such as `always @*`, would wait for an event that never comes. `pmuxtree` avoids a function
whose name Icarus rejects.
"""

_INITIAL = re.compile(r"^ *attribute \\init .*\n", re.MULTILINE)
_PORT = re.compile(r"^(\s*wire .*\b(?:input|output) )(\d+)", re.MULTILINE)
_NAME = re.compile(r"\\([A-Za-z_][\w.]*)")


def to_rtlil(component: wiring.Component, name: str) -> str:
    """Return RTLIL with names that need no escapes in Verilog: `operand_sign` for `operand.sign`."""
    text = rtlil.convert(component, name=name, emit_src=False)
    packed = {wire.rpartition(".")[0] for wire in _NAME.findall(text) if not wire.startswith(f"{name}.")}

    def renamed(match: re.Match[str]) -> str:
        return ("$" if match[1] in packed else "\\") + match[1].replace(".", "_")

    return _NAME.sub(renamed, _made_plain(component, text))


def sourced_rtlil(component: wiring.Component, name: str) -> tuple[str, dict[tuple[str, ...], str]]:
    """Return RTLIL with source positions, and docstrings of submodules by module path."""
    fragment = Fragment.get(component, None)
    docs = dict(_docs(fragment, ()))
    ports = {}
    for path, member, value in component.signature.flatten(component):
        direction = PortDirection.Input if member.flow == wiring.In else PortDirection.Output
        ports["__".join(map(str, path))] = (Value.cast(value), direction)
    text, _ = rtlil.convert_fragment(fragment, ports, name, emit_src=True)
    return _made_plain(component, text), docs


def _made_plain(component: wiring.Component, text: str) -> str:
    # Yosys moves a port with number 0 to the end, so the ports are numbered from 1.
    text = _PORT.sub(lambda match: f"{match[1]}{int(match[2]) + 1}", text)
    # With initial values, Yosys would turn registers that never change into constants.
    return _INITIAL.sub("", text) if getattr(component, "initially_unknown", False) else text


def _docs(fragment: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    made_by = (type(origin) for origin in fragment.origins or ())
    component = next((kind for kind in made_by if issubclass(kind, wiring.Component)), None)
    yield path, (path and component and component.__dict__.get("__doc__") and inspect.getdoc(component)) or ""
    for number, (inner, name, _) in enumerate(fragment.subfragments):
        yield from _docs(inner, (*path, name or f"U{number}"))
