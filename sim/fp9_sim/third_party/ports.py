"""Read the ports of a third-party module with Verilator, and find bit ranges by name."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9_sim.simulators.build import first_error
from fp9_sim.simulators.find import SimulatorError, verilator


@dataclass(frozen=True)
class Bits:
    """A packed vector whose bit indices run from `left` to `right`."""

    left: int
    right: int

    @property
    def width(self) -> int:
        return abs(self.left - self.right) + 1


@dataclass(frozen=True)
class Packed:
    left: int
    right: int
    element: Type

    @property
    def width(self) -> int:
        return (abs(self.left - self.right) + 1) * self.element.width


@dataclass(frozen=True)
class Struct:
    """A packed struct. The first member is the most significant."""

    members: tuple[tuple[str, Type], ...]

    @property
    def width(self) -> int:
        return sum(kind.width for _, kind in self.members)


@dataclass(frozen=True)
class Unpacked:
    left: int
    right: int
    element: Type

    @property
    def width(self) -> int:
        # The width is the number of bits of one element of an array port.
        return self.element.width


Type = Bits | Packed | Struct | Unpacked


@dataclass(frozen=True)
class TheirPort:
    """A port of the DUT."""

    name: str
    # INPUT, OUTPUT or INOUT, as in Verilator's output.
    direction: str
    type: Type

    @property
    def dimensions(self) -> tuple[tuple[int, int], ...]:
        """Return the index bounds of each unpacked array dimension, outermost first."""
        found, kind = [], self.type
        while isinstance(kind, Unpacked):
            found.append((kind.left, kind.right))
            kind = kind.element
        return tuple(found)

    @property
    def elements(self) -> tuple[str, ...]:
        """Return the Verilog index, such as `[0][1]`, of each element of an unpacked array port."""
        # A port that is not an unpacked array has one element with an empty index.
        texts = [""]
        for left, right in self.dimensions:
            texts = [f"{t}[{i}]" for t in texts for i in range(min(left, right), max(left, right) + 1)]
        return tuple(texts)


@dataclass(frozen=True)
class Place:
    """The bits from `low` to `low + width - 1` in a DUT port. Bit 0 is the least significant bit.

    For a port that is an unpacked array, `element` is the Verilog index of one array element, such as `[0][1]`.
    """

    port: TheirPort
    element: str
    low: int
    width: int


_PATH = re.compile(r"([A-Za-z_][A-Za-z0-9_$]*)((?:\.[A-Za-z_]\w*|\[\d+(?::\d+)?\])*)")
_STEP = re.compile(r"\.(\w+)|\[(\d+)(?::(\d+))?\]")


def place(ports: Mapping[str, TheirPort], path: str, where: str) -> Place:
    """Return the bits that a path such as `bus.op[1][7:0]` names."""
    found = _PATH.fullmatch(path)
    if found is None:
        raise ValueError(f"{where} = {path!r} given; give a port, with [i], [high:low] or .member for a part of it")
    if found[1] not in ports:
        raise ValueError(f"{where} = {path!r} given, and there is no port {found[1]}; it has {', '.join(ports)}")
    port = ports[found[1]]
    kind, element, low = port.type, "", 0
    for member, first, last in _STEP.findall(found[2]):
        try:
            if isinstance(kind, Unpacked) and first and not last:
                _offset(kind.left, kind.right, int(first))
                element, kind = f"{element}[{first}]", kind.element
            else:
                step, kind = _inside(kind, member, first, last)
                low += step
        except LookupError:
            raise ValueError(f"{where} = {path!r} given, and {found[1]} has no such part") from None
    if isinstance(kind, Unpacked):
        raise ValueError(f"{where} = {path!r} given, and that is an array; name one element, as in {path}[{kind.left}]")
    return Place(port, element, low, kind.width)


def _inside(kind: Type, member: str, first: str, last: str) -> tuple[int, Type]:
    if isinstance(kind, Struct) and member:
        names = [name for name, _ in kind.members]
        if member not in names:
            raise LookupError
        after = kind.members[names.index(member) + 1 :]
        return sum(other.width for _, other in after), dict(kind.members)[member]
    if not isinstance(kind, Bits | Packed) or not first:
        raise LookupError
    each: Type = Bits(0, 0) if isinstance(kind, Bits) else kind.element
    ends = sorted(_offset(kind.left, kind.right, int(end)) for end in (first, last or first))
    count = ends[1] - ends[0] + 1
    return ends[0] * each.width, each if count == 1 else Bits(count * each.width - 1, 0)


def _offset(left: int, right: int, index: int) -> int:
    if not min(left, right) <= index <= max(left, right):
        raise LookupError
    return abs(index - right)


# --- Verilator's syntax tree ----------------------------------------------------------------------------------------


def elaborate(top: str, verilog: str, parameters: str, where: str) -> dict[str, TheirPort]:
    """Elaborate module `top` with Verilator and return its ports by name."""
    probe = f"\nmodule fp9_probe;\n  {top} {parameters} unit();\nendmodule\n"
    tree = _tree(f"{verilog}\n`line 1 {json.dumps(where)} 0{probe}", top, "--top-module", "fp9_probe")
    nodes = list(_nodes(tree))
    types = {node["addr"]: node for node in nodes if node.get("type", "").endswith("DTYPE")}
    module = next(node for node in nodes if node.get("type") == "MODULE" and node.get("origName") == top)
    ports = [node for node in _nodes(module) if node.get("type") == "VAR" and node.get("direction", "NONE") != "NONE"]
    of_module = [port for port in ports if port in module.get("stmtsp", [])]
    try:
        return {p["name"]: TheirPort(p["name"], p["direction"], _type(p["dtypep"], types)) for p in of_module}
    except LookupError as error:
        raise ValueError(f"{where}: {top} has a port that is {error.args[0]}; give a module of packed ports") from None


def tops(verilog: str, where: str) -> list[str]:
    """Return the names of the modules that no other module instantiates."""
    try:
        tree = _tree(verilog, where)
    except SimulatorError as error:
        if missing := _MISSING.search(str(error)):
            raise ValueError(f"{where}: no module {missing[1]}; give the file that has it, too") from None
        raise
    return [n["origName"] for n in _nodes(tree) if n.get("type") == "MODULE" and n.get("level") == 1]


_MISSING = re.compile(r"MODMISSING.*module: '(\w+)'")


def _tree(verilog: str, name: str, *words: str) -> Any:
    simulator = verilator()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.sv"
        source.write_text(verilog)
        command = [str(simulator.folder / "verilator"), "--json-only", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
        command += ["-Wno-MULTITOP", "--timing", *words, "--prefix", "Vprobe", "--Mdir", folder, str(source)]
        done = subprocess.run(
            command, cwd=folder, env=simulator.environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SimulatorError(f"verilator refuses {name}: {first_error(done.stderr + done.stdout)}")
        return json.loads((Path(folder) / "Vprobe.tree.json").read_text())


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from _nodes(item)


def _type(address: str, types: Mapping[str, dict[str, Any]]) -> Type:
    node = types[address]
    match node["type"]:
        case "BASICDTYPE":
            left, _, right = node.get("range", "0:0").partition(":")
            return Bits(int(left), int(right))
        case "PACKARRAYDTYPE" | "UNPACKARRAYDTYPE" as kind:
            left, _, right = node["declRange"].strip("[]").partition(":")
            array = Packed if kind == "PACKARRAYDTYPE" else Unpacked
            return array(int(left), int(right), _type(node["refDTypep"], types))
        case "STRUCTDTYPE" if node.get("packed"):
            return Struct(tuple((m["name"], _type(m["refDTypep"], types)) for m in node["membersp"]))
        case _ if node.get("refDTypep") or node.get("dtypep") not in (None, address):
            reference = str(node.get("refDTypep"))
            return _type(reference if reference in types else node["dtypep"], types)
        case kind:
            raise LookupError(f"an unpacked {kind.removesuffix('DTYPE').lower()}")
