"""Read a circuit from Yosys as operations on words of several bits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fp9_rtl.tools.order import dependencies_first

Bit = int | str
"""A one-bit net by its number, or a constant as text: `0`, `1` or `x`."""
Bits = tuple[Bit, ...]
"""A vector of bits, lowest first."""
Path = tuple[str, ...]
"""Names of nested submodules, from the top. The path of the top module is ()."""

BITWISE = {"$and", "$or", "$xor", "$not", "$mux", "$pmux", "$dff"}
"""Cell kinds in which every output bit depends only on its own bit position."""
ARITHMETIC = {"$add", "$sub", "$mul", "$neg", "$shl", "$sshl"}
"""Cell kinds in which an output bit depends only on its own and lower bit positions."""
_RENAMED = {"$reduce_bool": "$reduce_or", "$logic_not": "$is_zero", "$logic_and": "$and", "$logic_or": "$or"}
SHARED = {"$dff": ("CLK", "ARST"), "$mux": ("S",), "$pmux": ("S",)}


@dataclass(eq=False, slots=True)
class Cell:
    """One operation of a circuit."""

    kind: str
    inputs: dict[str, Bits]
    output: Bits  # bits that the cell drives
    path: Path
    source: tuple[str, int] | None = None
    signed: bool = False
    reset_by: int = 1  # value of the input `ARST` that resets a register to its input `RESET`

    def places(self, kept: Sequence[int]) -> Cell:
        shared = SHARED.get(self.kind, ())
        width = len(self.output)
        inputs = {
            port: bits if port in shared else tuple(bits[part + i] for part in range(0, len(bits), width) for i in kept)
            for port, bits in self.inputs.items()
        }
        return replace(self, inputs=inputs, output=tuple(self.output[i] for i in kept))


@dataclass(frozen=True)
class Wire:
    """A name from the Python source, and the circuit bits that it names."""

    path: Path
    name: str
    bits: Bits


@dataclass(frozen=True)
class Port:
    name: str
    is_input: bool
    bits: Bits


@dataclass
class Circuit:
    """A circuit: its cells, the names from its Python source, and its ports.

    Each cell comes after all combinational cells that drive its inputs.
    """

    cells: list[Cell]
    wires: list[Wire]
    ports: list[Port] = field(default_factory=list)


def read_circuit(module: Mapping[str, Any]) -> Circuit:
    """Read a flat module in Yosys' JSON format. Raises NotImplementedError for an unsupported cell."""
    ports = [Port(n, p["direction"] == "input", tuple(p["bits"])) for n, p in module["ports"].items()]
    used = [bit for wire in module["netnames"].values() for bit in wire["bits"] if isinstance(bit, int)]
    free = _Free(max(used, default=0) + 1)
    cells = [_cell(name, cell, free) for name, cell in module["cells"].items() if cell["type"] != "$scopeinfo"]
    _place(cells)
    wires = [_wire(name, wire) for name, wire in module["netnames"].items() if not wire["hide_name"]]
    circuit = Circuit(cells, wires, ports)
    _read_signs(circuit)
    _trim(circuit)
    _order(circuit)
    _merge(circuit)
    return circuit


class _Free:
    def __init__(self, first: int) -> None:
        self._next = first

    def take(self, count: int) -> Bits:
        self._next += count
        return tuple(range(self._next - count, self._next))


def _wire(name: str, wire: Mapping[str, Any]) -> Wire:
    path = wire["attributes"].get("hdlname", name).split(" ")
    return Wire(tuple(map(_module_name, path[:-1])), path[-1], tuple(wire["bits"]))


def _module_name(name: str) -> str:
    # The first unnamed submodule is called `U0`.
    return re.sub(r"^U\$", "U", re.sub(r"(?<!^U)\$\d+$", "", name))


def _cell(name: str, cell: Mapping[str, Any], free: _Free) -> Cell:
    kind = _RENAMED.get(cell["type"], cell["type"])
    ports = {port: tuple(bits) for port, bits in cell["connections"].items()}
    output = ports.pop("Q" if "Q" in ports else "Y")
    place = re.match(r"\$flatten((?:\\[\w$]+\.)+)", name)
    path: Path = () if re.match(r"\$\d", name) else ("?",)
    if place:
        path = tuple(map(_module_name, re.findall(r"\\([\w$]+)\.", place[1])))
    source = re.match(r"(.*?):(\d+)", cell["attributes"].get("src", "").partition("|")[0])
    parameters = cell["parameters"]
    shifts = kind in ("$shl", "$sshl")  # the shift distance is a separate number
    signs = [int(parameters[name], 2) for name in ("A_SIGNED", "B_SIGNED")[: 2 - shifts] if name in parameters]
    signed = bool(signs) and all(signs)
    made = Cell(kind, ports, output, path, (source[1], int(source[2])) if source else None)
    if kind == "$adff":
        made.kind = kind = "$dff"
        made.inputs = ports | {"RESET": tuple(reversed(parameters["ARST_VALUE"]))}
        made.reset_by = int(parameters["ARST_POLARITY"], 2)
    if kind in ("$and", "$or", "$xor", "$not", *ARITHMETIC, "$pos"):
        made.inputs = {p: b if p == "B" and shifts else extended(b, len(output), signed) for p, b in ports.items()}
    elif kind in ("$eq", "$ne", "$lt", "$le", "$gt", "$ge"):
        width = max(map(len, ports.values()))
        made.inputs = {port: extended(bits, width, signed) for port, bits in ports.items()}
        made.signed = signed and kind not in ("$eq", "$ne")
        if kind in ("$eq", "$ne"):
            _compare_less(made)
    elif kind == "$shr":
        made.inputs["A"] = extended(ports["A"], max(len(ports["A"]), len(output)), False)
        made.output += free.take(len(made.inputs["A"]) - len(output))
    elif kind not in ("$mux", "$pmux", "$dff", "$reduce_or", "$reduce_and", "$reduce_xor", "$is_zero"):
        raise NotImplementedError(f"cell {kind} has no Verilog here")
    if kind not in BITWISE and kind not in ARITHMETIC and kind not in ("$shr", "$pos") and len(output) > 1:
        raise NotImplementedError(f"cell {kind} of {len(output)} bits")
    if kind == "$mux" and len(output) == 1:
        _as_gate(made)
    if kind == "$is_zero" and len(made.inputs["A"]) == 1:
        made.kind = "$not"
    return made


def _compare_less(cell: Cell) -> None:
    # Drop the bit positions at which both operands have the same constant.
    pairs = list(zip(cell.inputs["A"], cell.inputs["B"], strict=True))
    kept = [(a, b) for a, b in pairs if a != b or isinstance(a, int)] or pairs[:1]
    cell.inputs = {"A": tuple(a for a, _ in kept), "B": tuple(b for _, b in kept)}


def _as_gate(cell: Cell) -> None:
    # A one-bit multiplexer becomes an AND gate if input A is 0, or an OR gate if input B is 1.
    a, b, s = cell.inputs["A"], cell.inputs["B"], cell.inputs["S"]
    if a == ("0",):
        cell.kind, cell.inputs = "$and", {"A": s, "B": b}
    elif b == ("1",):
        cell.kind, cell.inputs = "$or", {"A": s, "B": a}


def extended(bits: Bits, width: int, signed: bool) -> Bits:
    sign = bits[-1] if signed else "0"
    return (bits + (sign,) * (width - len(bits)))[:width]


def _place(cells: Iterable[Cell]) -> None:
    lost = [cell for cell in cells if cell.path == ("?",)]
    if not lost:
        return
    around: dict[Bit, Path] = {}
    for cell in cells:
        if cell.path != ("?",):
            around.update(dict.fromkeys(nets(cell.output), cell.path))
    for cell in cells:
        if cell.path != ("?",):
            around.update({bit: cell.path for bits in cell.inputs.values() for bit in nets(bits)})
    for cell in lost:
        touched = (*cell.output, *(bit for bits in cell.inputs.values() for bit in bits))
        cell.path = next((around[bit] for bit in touched if bit in around), ())


def nets(bits: Iterable[Bit]) -> Iterator[int]:
    return (bit for bit in bits if isinstance(bit, int))


def _read_signs(circuit: Circuit) -> None:
    """Replace `x < 0` by the sign bit of x, and `x >= 0` by the inverted sign bit."""
    same: dict[Bit, Bit] = {}
    for cell in circuit.cells:
        if cell.signed and cell.kind in ("$lt", "$ge") and set(cell.inputs["B"]) == {"0"}:
            sign = cell.inputs["A"][-1]
            if cell.kind == "$lt":
                same[cell.output[0]] = sign
            else:
                cell.kind, cell.inputs, cell.signed = "$not", {"A": (sign,)}, False
    _rename(circuit, same)


def _rename(circuit: Circuit, same: Mapping[Bit, Bit]) -> None:
    def renamed(bits: Bits) -> Bits:
        return tuple(same.get(bit, bit) for bit in bits)

    for cell in circuit.cells:
        cell.inputs = {port: renamed(bits) for port, bits in cell.inputs.items()}
    circuit.wires = [replace(wire, bits=renamed(wire.bits)) for wire in circuit.wires]
    circuit.ports = [replace(port, bits=renamed(port.bits)) for port in circuit.ports]


def _trim(circuit: Circuit) -> None:
    """Remove cells, and bits of cells, on which no circuit output depends."""
    driver = {bit: (cell, i) for cell in circuit.cells for i, bit in enumerate(cell.output)}
    live: set[int] = set()
    pending = [bit for port in circuit.ports if not port.is_input for bit in nets(port.bits)]
    while pending:
        bit = pending.pop()
        if bit in live:
            continue
        live.add(bit)
        if bit in driver:
            pending += _behind(*driver[bit])
    kept = []
    for cell in circuit.cells:
        places = [i for i, bit in enumerate(cell.output) if bit in live]
        if places and cell.kind in BITWISE:
            kept.append(cell.places(places))
        elif places and cell.kind in ARITHMETIC:
            top = places[-1] + 1
            inputs = {p: b if p == "B" and cell.kind == "$shl" else b[:top] for p, b in cell.inputs.items()}
            kept.append(replace(cell, inputs=inputs, output=cell.output[:top]))
        elif places:
            kept.append(cell)
    circuit.cells = kept


def _behind(cell: Cell, place: int) -> Iterator[int]:
    for port, bits in cell.inputs.items():
        if cell.kind in BITWISE and port not in SHARED.get(cell.kind, ()):
            yield from nets(bits[place :: len(cell.output)])
        elif cell.kind in ARITHMETIC and len(bits) == len(cell.output) and not (port == "B" and cell.kind == "$shl"):
            yield from nets(bits[: place + 1])
        else:
            yield from nets(bits)


def _order(circuit: Circuit) -> None:
    driver = {bit: cell for cell in circuit.cells for bit in nets(cell.output)}
    registers = [cell for cell in circuit.cells if cell.kind == "$dff"]
    roots = [driver[b] for port in circuit.ports if not port.is_input for b in nets(port.bits) if b in driver]
    circuit.cells = [
        *dependencies_first(
            [*registers, *roots],
            lambda cell: (
                driver[b] for bits in cell.inputs.values() for b in bits if b in driver and driver[b].kind != "$dff"
            ),
        )
    ]


def _merge(circuit: Circuit) -> None:
    same: dict[Bit, Bit] = {}
    known: dict[object, Cell] = {}
    kept = []
    for cell in circuit.cells:
        cell.inputs = {port: tuple(same.get(bit, bit) for bit in bits) for port, bits in cell.inputs.items()}
        key = (cell.kind, cell.path, cell.signed, len(cell.output), *cell.inputs.items())
        first = known.setdefault(key, cell)
        if first is cell or cell.kind == "$dff":
            kept.append(cell)
        else:
            same.update(zip(cell.output, first.output, strict=True))
    circuit.cells = kept
    _rename(circuit, same)  # registers also read cells that come later


def settled(circuit: Circuit, same: Mapping[Bit, Bit]) -> None:
    _rename(circuit, same)
    _trim(circuit)
    _merge(circuit)


def readers_first(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Yield registers first, then the other cells from the circuit's outputs to its inputs."""
    yield from (cell for cell in cells if cell.kind == "$dff")
    yield from (cell for cell in reversed(cells) if cell.kind != "$dff")


def readers(circuit: Circuit) -> Counter[int]:
    count = Counter(bit for cell in circuit.cells for bits in cell.inputs.values() for bit in nets(bits))
    count.update(bit for port in circuit.ports if not port.is_input for bit in nets(port.bits))
    return count
