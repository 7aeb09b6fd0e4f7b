"""Coverage model of multi-format FPUs: operations, select ports, flags and classes."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from fp9.formats import Format
from fp9.formats.rounding import Overflow
from fp9.units import Columns, FpuGroup, MultiFpu
from fp9.units.multi_fpu import DOTS, PAIRS, ROUNDED, SINGLES, MultiFpuOp
from fp9_sim.coverage.model import FLAGS, SIGNS, Bin, Facts, Group, Model, class_of, classes_of, flags_of


def multi_fpu_model(unit: MultiFpu) -> Model:
    groups = [Group("", {"operation": tuple(op.value for op in unit.operations), **_choices(unit)})]
    for name in unit.operands:
        groups += [
            Group(f"{name}.{fmt.name}", {"class": classes_of(fmt), "sign": SIGNS if fmt.signed else SIGNS[:1]})
            for fmt in unit.formats
        ]
    groups += [Group(f"result.{fmt.name}", {"class": _results(unit, fmt)}) for fmt in unit.formats if _rounds(unit)]
    return Model(tuple(groups), functools.partial(_facts, unit))


def _rounds(unit: MultiFpu) -> bool:
    return any(op in ROUNDED for op in unit.operations)


def _choices(unit: MultiFpu) -> dict[str, tuple[Bin, ...]]:
    points: dict[str, tuple[Bin, ...]] = {
        port.name: port.choices for port in unit.inputs if port.choices and port.name != "op"
    }
    if unit.lane_widths:
        points["vector"] = tuple(range(len(unit.lane_widths) + 1))
    if unit.flags and FpuGroup.ADDMUL in unit.groups:
        points["flags"] = FLAGS
    return points


def _results(unit: MultiFpu, fmt: Format) -> tuple[str, ...]:
    policies = {unit.policy(fmt, unit.roundings[0], overflow).overflow for overflow in unit.overflow}
    return tuple(n for n in classes_of(fmt) if n != "infinity" or policies != {Overflow.SATURATE})


@functools.lru_cache(maxsize=1 << 17)
def _class(code: int, fmt: Format) -> str:
    return class_of(code, fmt)


def _facts(unit: MultiFpu, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    rows = {name: np.asarray(column).tolist() for name, column in inputs.items()}
    flags = outputs["flags"].tolist() if unit.flags else [0] * len(outputs["result"])
    choices = {port.name: port.choices for port in unit.inputs if port.choices}
    for row, result in enumerate(outputs["result"].tolist()):
        picked: dict[str, Bin] = {
            name: offered[min(rows[name][row], len(offered) - 1)] for name, offered in choices.items()
        }
        op = MultiFpuOp(picked.pop("op", unit.operations[0].value))
        vector = min(rows["vector"][row], len(unit.lane_widths)) if unit.lane_widths else 0
        facts = {"operation": op.value, "flags": flags_of(flags[row]), **picked, "vector": vector}
        yield "", {name: fact for name, fact in facts.items() if name in _points(unit)}
        if not vector:
            yield from _operands(unit, op, picked, {name: rows[name][row] for name in unit.operands}, result)


@functools.lru_cache(maxsize=64)
def _points(unit: MultiFpu) -> frozenset[str]:
    return frozenset({"operation", *_choices(unit)})


def reads(op: MultiFpuOp, operand: str) -> bool:
    return {"a": op not in (MultiFpuOp.FROM_INTEGER, *DOTS), "b": op in PAIRS, "c": op not in SINGLES}[operand]


def follows_a(op: MultiFpuOp) -> bool:
    return op.value.startswith(("sgnj", "min", "max"))


def _operands(
    unit: MultiFpu, op: MultiFpuOp, picked: dict[str, Bin], codes: dict[str, int], result: int
) -> Iterator[Facts]:
    formats = {fmt.name: fmt for fmt in unit.formats}
    chosen = {name: formats[str(picked.get(unit.format_port(name), unit.formats[0].name))] for name in "abc"}
    if follows_a(op):
        chosen["c"] = chosen["a"]
    for name, code in codes.items():
        if reads(op, name):
            fmt = chosen[name]
            own = code & ((1 << fmt.bits) - 1)
            yield f"{name}.{fmt.name}", {"class": _class(own, fmt), "sign": SIGNS[fmt.is_negative(own)]}
    if op in ROUNDED:
        fmt = formats[str(picked.get(unit.format_port("result"), unit.formats[0].name))]
        yield f"result.{fmt.name}", {"class": _class(result & ((1 << fmt.bits) - 1), fmt)}
