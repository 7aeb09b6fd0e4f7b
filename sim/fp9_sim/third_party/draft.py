"""Write a draft of a mapping file from a module's ports, for `fp9 check-rtl --init`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fp9.units import CATALOGUE
from fp9_sim.third_party.collect import collect, defined
from fp9_sim.third_party.ports import TheirPort, elaborate, tops
from fp9_sim.third_party.sources import read, text_of
from fp9_sim.third_party.suggest import suggest, unit_line, unlike

_MODULE = re.compile(r"^[ \t]*(?:module|entity)[ \t]+(?:automatic[ \t]+)?([A-Za-z_]\w*)", re.MULTILINE | re.IGNORECASE)
_CLOCK = re.compile(r"(?:.*_)?(?:clk|clock|ck)(?:_i|_in|_\w)?", re.IGNORECASE)
_RESET = re.compile(r"(?:.*_)?(?:a?rst|a?reset)_?(?:n|ni|b|i|in|l)?", re.IGNORECASE)
_LOW = re.compile(r".*(?:rst|reset)_?(?:n|ni|b|l)", re.IGNORECASE)


@dataclass(frozen=True)
class Given:
    """Options for a draft of a mapping: include folders, macros, and parameters of the top module."""

    include: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


_HANDSHAKE = {
    "in_valid": ("INPUT", re.compile(r"(?:in_?|i_|s_)?(?:axis_)?t?v(?:a)?lid(?:_i|_in|in)?", re.IGNORECASE)),
    "in_ready": ("OUTPUT", re.compile(r"(?:in_?|i_|s_)?(?:axis_)?t?re?a?dy(?:_o|_in)?", re.IGNORECASE)),
    "out_valid": ("OUTPUT", re.compile(r"(?:out_?|o_|m_)?(?:axis_)?t?v(?:a)?lid(?:_o|_out|out)?", re.IGNORECASE)),
    "out_ready": ("INPUT", re.compile(r"(?:out_?|o_|m_)?(?:axis_)?t?re?a?dy(?:_i|_out)?", re.IGNORECASE)),
    "start": ("INPUT", re.compile(r"(?:i_)?(?:start|go)(?:_i)?", re.IGNORECASE)),
    "done": ("OUTPUT", re.compile(r"(?:o_)?done(?:_o)?", re.IGNORECASE)),
}


def draft(sources: Sequence[Path | str], top: str | None = None, given: Given = Given()) -> str:
    """Return the text of a draft mapping for a Verilog or VHDL module. The user completes the draft.

    A source is a Verilog or VHDL file, a folder, a file list (.f) or a FuseSoC core. If `top` is None, the draft
    describes the only Verilog module that no other module instantiates, or the last VHDL entity. Clock, reset and
    handshake ports are recognised by their names. File paths are absolute, so the user can save the mapping in any
    folder. Raises ValueError if there is no candidate for the top module, or more than one candidate. Raises
    SimulatorError if Verilator rejects the source files.
    """
    found = collect(sources)
    found.include += [folder.resolve() for folder in given.include]
    found.defines |= dict(defined(text) for text in given.defines)
    parameters = dict(defined(text) for text in given.parameters)
    paths = found.files
    where = ", ".join(path.name for path in paths)
    declared = [name for path in paths for name in _MODULE.findall(read(path))]
    if not declared:
        raise ValueError(f"{where} has no module; give the files of the unit")
    names = [str(path) for path in paths]
    whole = text_of(paths[0], top or declared[-1], names, [str(folder) for folder in found.include], found.defines)
    name = top or _top(whole, where)
    chosen = ", ".join(
        f".{key}({int(value) if isinstance(value, bool) else value})" for key, value in parameters.items()
    )
    ports = elaborate(name, whole, f"#({chosen})" if chosen else "", where)
    clocks = [port for port in ports.values() if _CLOCK.fullmatch(port.name) and port.direction == "INPUT"]
    resets = [port for port in ports.values() if _RESET.fullmatch(port.name) and port.direction == "INPUT"]
    handshake = _handshake(ports) if clocks else {}
    said = {port.name for port in (*clocks[:1], *resets[:1])} | {*handshake.values()}
    others = [port for port in ports.values() if port.name not in said]
    found_units = suggest(name, others)
    unmapped = unlike(found_units[0], others) if found_units else others
    lines = [
        f"files = {json.dumps([str(path) for path in paths])}",
        *([f"include = {json.dumps([str(folder) for folder in found.include])}"] if found.include else []),
        f'top = "{name}"',
        unit_line(found_units),
        '# nan = "any"  # accept any NaN where NaN is expected',
        '# without = ["flags"]  # outputs of the specification that the design does not have',
        "",
        "[ports]  # spec = its port or a part of it; ports with the same names in both need no line",
        *(f"# of {unit}: {_offered(unit)}" for unit in found_units[:1]),
        *(f'# ? = "{port.name}"  # {_words(port)}' for port in unmapped),
        "",
        "[constants]  # inputs that are tied to a value",
        *(f"# {port.name} = 0" for port in unmapped if port.direction == "INPUT"),
    ]
    lines += _table("defines", found.defines) + _table("parameters", parameters)
    if clocks:
        lines += [
            "",
            "[clock]  # fp9 measures the latency; to set it, write latency = 3 above",
            f'port = "{clocks[0].name}"',
        ]
    if resets:
        active = "low" if _LOW.fullmatch(resets[0].name) else "high"
        lines += ["", "[reset]", f'port = "{resets[0].name}"', f'active = "{active}"']
    if handshake:
        lines += [
            "",
            "[handshake]  # found by name: check it",
            *(f'{key} = "{port}"' for key, port in handshake.items()),
        ]
    return "\n".join(lines) + "\n"


def _offered(unit: str) -> str:
    spec = CATALOGUE[unit]
    ports = (*spec.inputs, *spec.outputs)
    return ", ".join(f"{port.name} [{port.width - 1}:0]" if port.width > 1 else port.name for port in ports)


def _table(name: str, values: Mapping[str, int | str | bool]) -> list[str]:
    return ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())] if values else []


def _handshake(ports: Mapping[str, TheirPort]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, (direction, pattern) in _HANDSHAKE.items():
        fitting = [p.name for p in ports.values() if p.direction == direction and pattern.fullmatch(p.name)]
        if len(fitting) == 1:
            found[key] = fitting[0]
    held = {key: port for key, port in found.items() if key in ("start", "done")}
    if len(held) == 2:
        return held
    streams = {key: port for key, port in found.items() if key not in ("start", "done")}
    return streams if "in_valid" in streams else {}


def _top(verilog: str, where: str) -> str:
    found = tops(verilog, where)
    if len(found) != 1:
        raise ValueError(f"{where} has modules that no other one uses: {', '.join(found)}; name one with --top")
    return found[0]


def _words(port: TheirPort) -> str:
    dimensions = "".join(f"[{left}:{right}]" for left, right in port.dimensions)
    array = f", an array {dimensions}" if dimensions else ""
    return f"{port.direction.lower()}, {port.type.width} bit{'s' * (port.type.width != 1)}{array}"
