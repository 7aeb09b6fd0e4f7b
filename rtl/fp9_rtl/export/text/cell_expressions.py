"""Convert each cell to a Verilog expression that has exactly the width of the cell's output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fp9_rtl.export.text.circuits.circuit import Bits, Cell
from fp9_rtl.export.text.expressions import Atom, Binary, Choice, Concatenation, Expression, Unary, constant

Read = Callable[[Bits], Expression]

OPERATORS = {
    "$and": "&",
    "$or": "|",
    "$xor": "^",
    "$add": "+",
    "$sub": "-",
    "$mul": "*",
    "$eq": "==",
    "$ne": "!=",
    "$lt": "<",
    "$le": "<=",
    "$gt": ">",
    "$ge": ">=",
    "$shl": "<<",
    "$sshl": "<<",
    "$shr": ">>",
}
_UNARY = {"$not": "~", "$neg": "-", "$reduce_or": "|", "$reduce_and": "&", "$reduce_xor": "^"}
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_JOINED = {"&", "|", "^", "+"}


def expression(cell: Cell, read: Read) -> Expression:
    inputs = cell.inputs
    if cell.kind == "$mux":
        return _choice([(read(inputs["S"]), read(inputs["B"]))], read(inputs["A"]))
    if cell.kind == "$pmux":
        return _choice([(read((s,)), read(value)) for s, value in arms(cell)], read(inputs["A"]))
    if cell.kind == "$is_zero":
        return Binary("==", (read(inputs["A"]), Atom(f"{len(inputs['A'])}'d0")))
    if cell.kind == "$not":
        return _not(read(inputs["A"]))
    if cell.kind in _UNARY:
        return Unary(_UNARY[cell.kind], read(inputs["A"]))
    if cell.kind == "$pos":
        return read(inputs["A"])
    if cell.kind not in OPERATORS:
        raise NotImplementedError(f"cell {cell.kind} has no expression")
    operator = OPERATORS[cell.kind]
    a, b = (_signed(inputs[port], read) if cell.signed else read(inputs[port]) for port in "AB")
    if operator not in _JOINED:
        return Binary(operator, (a, b))
    return Binary(operator, (*_operands(operator, a), *(_operands(operator, b) if operator != "+" else (b,))))


def arms(cell: Cell) -> Sequence[tuple[int | str, Bits]]:
    width = len(cell.output)
    values = cell.inputs["B"]
    return [(bit, values[i * width : (i + 1) * width]) for i, bit in enumerate(cell.inputs["S"])]


def _operands(operator: str, value: Expression) -> tuple[Expression, ...]:
    return value.operands if isinstance(value, Binary) and value.operator == operator else (value,)


def _choice(arms: list[tuple[Expression, Expression]], otherwise: Expression) -> Choice:
    if isinstance(otherwise, Choice):
        return Choice((*arms, *otherwise.arms), otherwise.otherwise)
    return Choice(tuple(arms), otherwise)


def _not(value: Expression) -> Expression:
    # If possible, replace an inversion `~` by the opposite operator, such as `!=` for `==`.
    if isinstance(value, Binary) and value.operator in _OPPOSITES:
        return Binary(_OPPOSITES[value.operator], value.operands)
    if isinstance(value, Unary) and value.operator == "~":
        return value.operand
    if isinstance(value, Unary) and value.operator in ("|", "&", "^"):
        return Unary(f"~{value.operator}", value.operand)
    return Unary("~", value)


def _signed(bits: Bits, read: Read) -> Expression:
    if all(isinstance(bit, str) for bit in bits):
        value = int("".join(str(bit) for bit in reversed(bits)), 2)
        value -= (bits[-1] == "1") << len(bits)
        return Atom(f"{'-' if value < 0 else ''}{len(bits)}'sd{abs(value)}")
    return Unary("$signed", _Bare(read(bits)))


class _Bare(Expression):
    atomic = False

    def __init__(self, argument: Expression) -> None:
        self._argument = argument

    def flat(self) -> str:
        return self._argument.flat()


def joined(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Concatenation(tuple(reversed(parts)))


def fixed(bits: Bits) -> Expression:
    """Return a Verilog constant from bits, lowest bit first. Undefined bits become 0."""
    return constant("".join("1" if bit == "1" else "0" for bit in reversed(bits)))
