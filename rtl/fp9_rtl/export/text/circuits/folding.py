"""Remove trivial operations from a circuit, for example `x & 1`, `s ? a : a` and `(a | b) | a`."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping

from fp9_rtl.export.text.circuits.circuit import Bit, Bits, Cell, Circuit, nets, settled

_OPPOSITE: Mapping[Bit, Bit] = {"0": "1", "1": "0"}
_IDENTITY: Mapping[str, Bit] = {"$and": "1", "$or": "0", "$xor": "0"}
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "$lt": operator.lt,
    "$le": operator.le,
    "$gt": operator.gt,
    "$ge": operator.ge,
}


def fold(circuit: Circuit) -> None:
    """Remove cells whose output is constant or equal to an input."""
    same: dict[Bit, Bit] = {}
    joined: dict[Bit, tuple[str, frozenset[Bit]]] = {}
    bounds: dict[Bit, tuple[str, Bits, Bits]] = {}
    equals: dict[Bit, tuple[Bits, Bits]] = {}
    left = []
    for cell in circuit.cells:
        cell.inputs = {port: tuple(same.get(bit, bit) for bit in bits) for port, bits in cell.inputs.items()}
        _narrow(cell, bounds)
        _drop_defaults(cell, equals)
        value = _value(cell, joined)
        if value is None:
            left.append(cell)
            _join(cell, joined)
        else:
            same.update(zip(cell.output, value, strict=True))
    circuit.cells = left
    settled(circuit, same)


def _narrow(cell: Cell, bounds: dict[Bit, tuple[str, Bits, Bits]]) -> None:
    # `x >= c and x <= c` becomes `x == c`.
    if cell.kind in ("$ge", "$le"):
        bounds[cell.output[0]] = cell.kind, cell.inputs["A"], cell.inputs["B"]
    elif cell.kind == "$and" and len(cell.output) == 1:
        (first, *compared), (second, *also) = (bounds.get(cell.inputs[port][0], ("", (), ())) for port in "AB")
        if {first, second} == {"$ge", "$le"} and compared == also:
            cell.kind, cell.inputs = "$eq", dict(zip("AB", compared, strict=True))


def _drop_defaults(cell: Cell, equals: dict[Bit, tuple[Bits, Bits]]) -> None:
    # A choice by the value of one word needs no choice whose result is the default.
    inputs, width = cell.inputs, len(cell.output)
    if cell.kind in ("$eq", "$is_zero"):
        equals[cell.output[0]] = inputs["A"], inputs.get("B", ("0",) * len(inputs["A"]))
    if cell.kind != "$pmux" or not set(inputs["S"]) <= equals.keys():
        return
    words, labels = zip(*(equals[bit] for bit in inputs["S"]), strict=True)
    is_constant = not any(True for label in labels for _ in nets(label)) and "x" not in itertools.chain(*labels)
    if len(set(words)) == 1 and len(set(labels)) == len(labels) and is_constant:
        values = [inputs["B"][i * width : (i + 1) * width] for i in range(len(labels))]
        left = [(s, value) for s, value in zip(inputs["S"], values, strict=True) if value != inputs["A"]]
        cell.inputs = inputs | {"S": tuple(s for s, _ in left), "B": tuple(bit for _, value in left for bit in value)}
        if len(left) == 1:
            cell.kind = "$mux"


def _value(cell: Cell, joined: Mapping[Bit, tuple[str, frozenset[Bit]]]) -> Bits | None:
    # This also removes inputs that cannot affect the output from the cell.
    inputs = cell.inputs
    if cell.kind in _IDENTITY:
        return _each(inputs["A"], inputs["B"], lambda a, b: _operation(cell.kind, a, b, joined))
    if cell.kind == "$mux":
        select, a, b = inputs["S"][0], inputs["A"], inputs["B"]
        if b == ("0",) and a == ("1",):
            cell.kind, cell.inputs = "$not", {"A": (select,)}
            return None
        chosen = (select,) if b == ("1",) and a == ("0",) else None
        return b if select == "1" else a if select == "0" or a == b else chosen
    if cell.kind == "$pmux":
        return _selected(cell)
    if cell.kind == "$not":
        opposite = tuple(_OPPOSITE.get(bit) for bit in inputs["A"])
        return tuple(bit for bit in opposite if bit is not None) if None not in opposite else None
    if cell.kind in ("$reduce_or", "$reduce_and", "$is_zero"):
        return _reduced(cell)
    if cell.kind in _COMPARED and not cell.signed:
        return _compared(cell)
    if cell.kind in ("$add", "$sub") and set(inputs["B"]) == {"0"}:
        return inputs["A"]
    return None


def _each(a: Bits, b: Bits, operation: Callable[[Bit, Bit], Bit | None]) -> Bits | None:
    found = []
    for x, y in zip(a, b, strict=True):
        bit = operation(x, y)
        if bit is None:
            return None
        found.append(bit)
    return tuple(found)


def _operation(kind: str, a: Bit, b: Bit, joined: Mapping[Bit, tuple[str, frozenset[Bit]]]) -> Bit | None:
    identity = _IDENTITY[kind]
    if a == identity or b == identity:
        return b if a == identity else a
    if kind == "$xor":
        return "0" if a == b and a != "x" else None
    absorbing = _OPPOSITE[identity]
    if absorbing in (a, b):
        return absorbing
    if a == b or b in _operands(kind, a, joined):
        return a
    return b if a in _operands(kind, b, joined) else None


def _operands(kind: str, bit: Bit, joined: Mapping[Bit, tuple[str, frozenset[Bit]]]) -> frozenset[Bit]:
    # If a gate of the same kind drives an operand, the operands of that gate are included.
    made_by, operands = joined.get(bit, ("", frozenset()))
    return operands if made_by == kind else frozenset()


def _join(cell: Cell, joined: dict[Bit, tuple[str, frozenset[Bit]]]) -> None:
    if cell.kind in ("$and", "$or"):
        for a, b, output in zip(cell.inputs["A"], cell.inputs["B"], cell.output, strict=True):
            operands = {a, b} | _operands(cell.kind, a, joined) | _operands(cell.kind, b, joined)
            joined[output] = cell.kind, frozenset(operands)


def _selected(cell: Cell) -> Bits | None:
    # This also removes conditions that are constant 0 from the cell. An undefined default may have any value.
    width, inputs = len(cell.output), cell.inputs
    held = [i for i, bit in enumerate(inputs["S"]) if bit != "0"]
    if not held:
        return inputs["A"]
    offered = {inputs["B"][i * width : (i + 1) * width] for i in held}
    if len(offered | ({inputs["A"]} - {("x",) * width})) == 1:
        return offered.pop()
    if len(held) < len(inputs["S"]):
        values = tuple(bit for i in held for bit in inputs["B"][i * width : (i + 1) * width])
        cell.inputs = inputs | {"S": tuple(inputs["S"][i] for i in held), "B": values}
    return None


def _reduced(cell: Cell) -> Bits | None:
    # This also removes operands that cannot affect the result from the cell.
    bits = cell.inputs["A"]
    neutral, deciding = ("1", "0") if cell.kind == "$reduce_and" else ("0", "1")
    if deciding in bits:
        return ("0",) if cell.kind == "$is_zero" else (deciding,)
    left = tuple(dict.fromkeys(bit for bit in bits if bit != neutral))
    if not left:
        return ("1",) if cell.kind == "$is_zero" else (neutral,)
    if not all(True for _ in nets(left)):
        return None
    cell.inputs = {"A": left}
    if len(left) > 1:
        return None
    if cell.kind == "$is_zero":
        cell.kind = "$not"
        return None
    return left


def _compared(cell: Cell) -> Bits | None:
    # A comparison with a constant is trivial if its result is constant or equal to the only unknown bit of the
    # number.
    a, b = cell.inputs["A"], cell.inputs["B"]
    if "x" in (*a, *b) or any(True for _ in nets(b)):
        return None
    least, most = (_number(a, unknown) for unknown in "01")
    at_least, at_most = (_COMPARED[cell.kind](value, _number(b, "0")) for value in (least, most))
    if at_least == at_most:
        return ("1" if at_most else "0",)
    unknown = tuple(nets(a))
    return unknown if at_most and len(unknown) == 1 else None


def _number(bits: Bits, unknown: str) -> int:
    return sum((bit if isinstance(bit, str) else unknown) == "1" and 1 << i for i, bit in enumerate(bits))
