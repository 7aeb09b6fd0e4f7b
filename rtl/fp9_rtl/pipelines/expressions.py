"""Convert Yosys cells that operate on words to Amaranth expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable

from amaranth.hdl import Cat, Const, Mux, Value

from fp9_rtl.pipelines.cells import Cell

_ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "$add": operator.add,
    "$sub": operator.sub,
    "$mul": operator.mul,
    "$and": operator.and_,
    "$or": operator.or_,
    "$xor": operator.xor,
}

_COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$lt": operator.lt,
    "$le": operator.le,
    "$gt": operator.gt,
    "$ge": operator.ge,
}

_REDUCTIONS: dict[str, Callable[[Value], Value]] = {
    "$reduce_and": Value.all,
    "$reduce_or": Value.any,
    "$reduce_bool": Value.any,
    "$reduce_xor": Value.xor,
    "$logic_not": lambda value: ~value.any(),
}

_SHIFTS: dict[str, Callable[[Value, Value], Value]] = {"$shl": operator.lshift, "$shr": operator.rshift}


def expression(cell: Cell, operands: dict[str, Value]) -> Value:
    """Return the output value of a cell, in the width of the output. The operands are unsigned."""
    kind, width = cell.kind, len(cell.ports["Y"])
    if kind in _REDUCTIONS:
        return _extended(_REDUCTIONS[kind](operands["A"]), width, signed=False)
    if kind == "$mux":
        return Mux(operands["S"], operands["B"], operands["A"])
    signed = bool(cell.parameters.get("A_SIGNED"))
    if "B" in operands and kind not in _SHIFTS and signed != bool(cell.parameters.get("B_SIGNED")):
        raise NotImplementedError(f"cell {kind} of a signed and an unsigned number")
    if kind in _COMPARISONS:
        a, b = (operands[port].as_signed() if signed else operands[port] for port in "AB")
        return _extended(_COMPARISONS[kind](a, b), width, signed=False)
    a = _extended(operands["A"], width, signed)
    if kind in _ARITHMETIC:
        return _ARITHMETIC[kind](a, _extended(operands["B"], width, signed))[:width]
    if kind in _SHIFTS:
        return _SHIFTS[kind](a, operands["B"])[:width]
    if kind in ("$not", "$neg", "$pos"):
        return {"$not": ~a, "$neg": (-a)[:width], "$pos": a}[kind]
    raise NotImplementedError(f"cell {kind}")


def _extended(value: Value, width: int, signed: bool) -> Value:
    if len(value) >= width:
        return value[:width]
    sign = value[-1] if signed and len(value) else Const(0, 1)
    return Cat(value, sign.replicate(width - len(value)))
