"""Specification of a multi-format FPU's conversions in all rounding modes except stochastic and hybrid rounding.

A table holds the oracle's result for every code of a narrow operand. Wide operands are compared with thresholds, at
which the oracle's result changes. Conversions between two wide formats have no specification. FPUs with the port
`scale`, or with the option `tiny_before_rounding`, have no specification of conversions.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from fp9.formats import FixedFormat, Format, Kind
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import FLAG_BITS, Flags, Overflow, Rounding
from fp9.oracle import casts as oracle
from fp9.oracle.thresholds import threshold_table
from fp9.units import FpuGroup, MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import NARROW_BITS
from fp9_sim.proofs.miter import Case
from fp9_sim.proofs.specs.casts.cast import expected, magnitude
from fp9_sim.proofs.specs.fpus.operand import Split, boxes, code, in_formats, selecting, signals, specification, splits

GROUP = FpuGroup.CONV

PROVES = (
    "result and flags of conversions equal the oracle's, from every format of at most 8 bits to every format and from "
    "every wide format to every format of at most 8 bits, for all operands, roundings and overflow policies, in each "
    "lane"
)
ASSUMES = (
    "between neighbouring thresholds the oracle does not change; it is asked at and beside each of them",
    "conversions between wide formats, with sr and with hybrid are no part of the claim",
)


def is_offered(unit: MultiFpu) -> bool:
    return GROUP in unit.groups and not (unit.scale or unit.tiny_before_rounding)


def cases(unit: MultiFpu) -> Iterator[Case]:
    roundings = [mode for mode in unit.roundings if not (mode.needs_bits or mode.reads_source)]
    for split in splits(unit):
        for source, target, mode in itertools.product(split.lane.formats, split.lane.formats, roundings):
            if min(source.bits, target.bits) > NARROW_BITS:
                continue
            fixed = unit.fixed_overflow(target)
            for overflow in unit.overflow if fixed is None else (fixed,):
                yield _case(split, source, target, mode, overflow)


def _case(split: Split, source: Format, target: Format, mode: Rounding, overflow: Overflow) -> Case:
    unit = split.unit
    choices = in_formats(split.lane, {"a": source, "result": target})
    choices["rounding"] = len(unit.roundings), unit.roundings.index(mode)
    if unit.fixed_overflow(target) is None:
        choices["overflow"] = len(unit.overflow), unit.overflow.index(overflow)
    held, condition = selecting(split, MultiFpuOp.CONVERT, choices)
    lane = functools.partial(_lane, split.lane, source, target, unit.policy(target, mode, overflow))
    right, wrong = (specification(split, source, condition, lane, broken) for broken in (False, True))
    return Case(f"{source.name} to {target.name} {mode.value} {overflow.value}{split.label}", held, right, wrong)


def _lane(lane: MultiFpu, source: Format, target: Format, policy: CastPolicy, low: int) -> list[str]:
    lines = [code(lane, "a", source, low)]
    if isinstance(source, FixedFormat) and source.bits > NARROW_BITS:
        lines += _by_thresholds(source, target, policy)
    else:
        lines += _by_table(source, target, policy)
    value = f"({signals('a', source)} ? {(target.nan_code(False) or 0) << FLAG_BITS | Flags.INVALID} : expected)"
    return [
        *lines,
        f"  wire [{lane.word + FLAG_BITS - 1}:0] wanted = {value};",
        f"  wire [{lane.word - 1}:0] code = wanted[{lane.word + FLAG_BITS - 1}:{FLAG_BITS}] | {boxes(lane, target)};",
        f"  wire [{FLAG_BITS - 1}:0] raised = wanted[{FLAG_BITS - 1}:0];",
    ]


def _by_thresholds(source: FixedFormat, target: Format, policy: CastPolicy) -> Iterator[str]:
    tables = [threshold_table(source, target, policy, negative) for negative in (False, True)]
    yield f"  wire a_nan = a_code[{source.bits - 2}:0] >= {tables[0].nan_from};"
    yield from magnitude(source, {"x": "a_code"}, None)
    yield from expected(tables)


def _by_table(source: Format, target: Format, policy: CastPolicy) -> Iterator[str]:
    bits = target.bits + FLAG_BITS
    yield f"  reg [{bits}:0] row;"
    yield f"  wire a_nan = row[{bits}]; wire [{bits - 1}:0] expected = row[{bits - 1}:0];"
    yield "  always @* case (a_code)"
    for number in range(1 << source.bits):
        exact = oracle.decode(number, source)
        result, flags = oracle.encode(exact, target, policy)
        yield f"    {number}: row = {bits + 1}'d{(exact.kind is Kind.NAN) << bits | result << FLAG_BITS | flags};"
    yield "  endcase"
