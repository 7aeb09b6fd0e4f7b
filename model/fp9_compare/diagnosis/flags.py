"""Ways in which the exception flags of an implementation may differ from the specification."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fp9.formats.rounding import FLAG_BITS, Flags, Rounding
from fp9.golden import evaluate
from fp9.golden.selects import factor_values
from fp9.units import Columns, MultiFpu, MultiFpuOp, Port, Results, Unit
from fp9.units.hooks import Hook
from fp9.units.multi_fpu import COMPARISONS
from fp9.units.views import stateless_sum_of
from fp9_compare.diagnosis.classes import (
    flag_ports,
    is_nan,
    is_signalling,
    limits,
    numbers,
    operands_beside,
    operations,
)
from fp9_compare.diagnosis.difference import Difference, Topic
from fp9_compare.diagnosis.specs import rounded_at_once, with_rounding

_RAISED = (Flags.INEXACT, Flags.UNDERFLOW, Flags.OVERFLOW, Flags.INVALID)


@dataclass(frozen=True)
class Operation:
    """Operands, results and flags of a unit's operations as arrays, and the limits of the result format."""

    unit: Unit
    port: Port
    inputs: Columns
    operands: Any
    signalling: Any
    result: Any
    flags: Any
    smallest_normal: Any
    largest: Any

    def raised(self, flag: Flags) -> Any:
        """Return a mask of the operations whose expected flags include `flag`."""
        return self.flags & flag.value != 0


@dataclass(frozen=True)
class Situation:
    """Class of operations, such as operations with a NaN operand."""

    words: str
    # Returns a mask of the operations in the class.
    meets: Callable[[Operation], Any]


def _lifted(op: Operation) -> Any:
    if not rounded_at_once(op.unit):
        return np.zeros(len(op.result), dtype=np.bool_)
    cut = with_rounding(op.unit, Rounding.RTZ)
    results = evaluate(cut, {port.name: op.inputs[port.name] for port in cut.inputs})
    below = np.abs(numbers(op.port, results[op.port.name], op.inputs)) < op.smallest_normal
    return below & (np.abs(op.result) == op.smallest_normal)


def _at_smallest_normal(op: Operation) -> Any:
    return (np.abs(op.result) == op.smallest_normal) & op.raised(Flags.INEXACT)


# Standards interpret these situations differently. The narrowest class of operations comes first.
SITUATIONS = (
    Situation(
        "for results that rounding raises to the smallest normal number (tininess before rounding)",
        _lifted,
    ),
    Situation("for inexact results at the smallest normal number", _at_smallest_normal),
    Situation("for signalling NaN", lambda op: op.signalling),
    Situation("for zero times infinity if another operand is NaN", lambda op: _invalid_beside_nan(op)),
    Situation("for NaN operands", lambda op: np.isnan(op.operands).any(axis=0)),
    Situation("for infinite operands", lambda op: np.isinf(op.operands).any(axis=0)),
    Situation("for infinite operands that saturate", lambda op: _saturated(op) & np.isinf(op.operands).any(axis=0)),
    Situation("for infinite operands that become NaN", lambda op: _inf_to_nan(op)),
    Situation("for finite operands that saturate", lambda op: _saturated(op) & ~np.isinf(op.operands).any(axis=0)),
    Situation("for exact subnormal results", lambda op: _tiny(op) & ~op.raised(Flags.INEXACT)),
    Situation("for inexact subnormal results", lambda op: _tiny(op) & op.raised(Flags.INEXACT)),
    Situation("for numbers that become zero", lambda op: (op.result == 0) & op.raised(Flags.INEXACT)),
    Situation("for all numbers that become zero, including exact subnormals", lambda op: _vanishes(op)),
    Situation("for results that are zero", lambda op: op.result == 0),
    Situation("where numbers overflow", lambda op: op.raised(Flags.OVERFLOW)),
    Situation("where the operation is invalid", lambda op: op.raised(Flags.INVALID)),
    Situation("for infinite results", lambda op: np.isinf(op.result)),
    Situation("for NaN results", lambda op: np.isnan(op.result)),
    Situation("ever", lambda op: np.ones(len(op.result), dtype=np.bool_)),
)


def _tiny(op: Operation) -> Any:
    magnitude = np.abs(op.result)
    return (magnitude > 0) & (magnitude < op.smallest_normal)


def _vanishes(op: Operation) -> Any:
    # Round to odd never turns a nonzero number into zero, and thus shows whether the exact result is zero.
    if not rounded_at_once(op.unit):
        return np.zeros(len(op.result), dtype=np.bool_)
    odd = with_rounding(op.unit, Rounding.RTO)
    results = evaluate(odd, {port.name: op.inputs[port.name] for port in odd.inputs})
    return (op.result == 0) & (numbers(op.port, results[op.port.name], op.inputs) != 0)


def _invalid_beside_nan(op: Operation) -> Any:
    # IEEE 754-2019, 7.2 (c) lets an implementation choose whether a fused multiply-add of (0, infinity, NaN) raises the
    # invalid flag.
    unit = stateless_sum_of(op.unit)
    if unit is None:
        return np.zeros(len(op.result), dtype=np.bool_)
    a, b = (np.abs(values) for values in factor_values(unit, op.inputs))
    undefined = (a == 0) & np.isinf(b) | np.isinf(a) & (b == 0)
    return undefined.any(axis=1) & np.isnan(op.operands).any(axis=0)


def _saturated(op: Operation) -> Any:
    beyond = op.raised(Flags.OVERFLOW) | np.isinf(op.operands).any(axis=0)
    return beyond & (np.abs(op.result) == op.largest)


def _inf_to_nan(op: Operation) -> Any:
    infinite = np.isinf(op.operands).any(axis=0) & ~np.isnan(op.operands).any(axis=0)
    return infinite & np.isnan(op.result)


def _operation(unit: Unit, port: Port, flags: Port, inputs: Columns, results: Results) -> Operation:
    beside = operands_beside(unit, port)
    smallest, largest = limits(port, inputs)
    return Operation(
        unit,
        port,
        inputs,
        np.stack([numbers(p, inputs[p.name], inputs) for p in beside]),
        np.logical_or.reduce([is_signalling(p, inputs[p.name], inputs) for p in beside]),
        numbers(port, results[port.name], inputs),
        np.asarray(results[flags.name]),
        smallest,
        largest,
    )


def _of_comparisons(unit: MultiFpu) -> Iterator[Situation]:
    for each in COMPARISONS:
        if each in unit.operations:
            yield Situation(f"for quiet NaN operands of {each.value}", functools.partial(_compares_nan, unit, each))


def _compares_nan(unit: MultiFpu, compared: MultiFpuOp, op: Operation) -> Any:
    read = [(port, op.inputs[port.name], op.inputs) for port in operands_beside(unit, op.port) if port.name in "ac"]
    quiet = np.logical_or.reduce([is_nan(*operand) for operand in read])
    signalling = np.logical_or.reduce([is_signalling(*operand) for operand in read])
    return operations(unit, op.inputs, compared) & quiet & ~signalling


_situations: Hook[[], Iterator[Situation]] = Hook(
    "situations of one kind of unit", {MultiFpu: _of_comparisons}, otherwise=lambda unit: iter(())
)


def _of_integers(unit: MultiFpu) -> Iterator[Difference]:
    def invalid(_: Unit, inputs: Columns, results: Results) -> Results:
        flags = np.asarray(results["flags"])
        overflows = operations(unit, inputs, MultiFpuOp.FROM_INTEGER) & (flags & Flags.OVERFLOW.value != 0)
        return {"flags": np.where(overflows, flags ^ (Flags.OVERFLOW.value | Flags.INVALID.value), flags)}

    if MultiFpuOp.FROM_INTEGER in unit.operations:
        says = "flags: it raises invalid in place of overflow where a converted integer overflows"
        yield Difference(Topic.FLAGS, says, results=invalid)


_replaced: Hook[[], Iterator[Difference]] = Hook(
    "one flag in place of another", {MultiFpu: _of_integers}, otherwise=lambda unit: iter(())
)


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield possible differences in the flags: a flag is wrongly raised, or wrongly not raised."""
    if not flag_ports(unit):
        return
    for situation in (*_situations(unit), *SITUATIONS):
        for flag in _RAISED:
            name = (flag.name or "").lower()
            for raised, words in ((True, "raises"), (False, "does not raise")):
                change = _changed(situation, flag, raised)
                yield Difference(Topic.FLAGS, f"flags: it {words} {name} {situation.words}", results=change)
    yield from _replaced(unit)
    yield Difference(Topic.FLAGS, "flags: its bits are in the opposite order", results=_reversed)


def _changed(situation: Situation, flag: Flags, raised: bool) -> Callable[[Unit, Columns, Results], Results]:
    def change(unit: Unit, inputs: Columns, results: Results) -> Results:
        given: Results = {}
        for flags, port in flag_ports(unit):
            operation = _operation(unit, port, flags, inputs, results)
            bit = np.uint8(flag.value)
            before = operation.flags.astype(np.uint8)
            after = before | bit if raised else before & ~bit
            meets = situation.meets(operation)
            if not raised and "vector" in inputs:  # another lane of an FPU may raise the flag
                meets &= inputs["vector"] == 0
            given[flags.name] = np.where(meets, after, before)
        return given

    return change


def _reversed(unit: Unit, inputs: Columns, results: Results) -> Results:
    given: Results = {}
    for flags, _ in flag_ports(unit):
        codes = np.asarray(results[flags.name], dtype=np.uint8)
        bits = [((codes >> place) & 1) << (FLAG_BITS - 1 - place) for place in range(FLAG_BITS)]
        given[flags.name] = np.bitwise_or.reduce(bits)
    return given
