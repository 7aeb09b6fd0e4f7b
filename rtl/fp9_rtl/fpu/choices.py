"""Meaning of a multi-format FPU's select ports: operations and overflow policies."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Mux, Value
from amaranth.lib import data

from fp9.formats import HiFloat8
from fp9.formats.rounding import Overflow
from fp9.units import MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import ROUNDED
from fp9_rtl.parts.select import any_of

SUMS = (*ROUNDED, MultiFpuOp.TO_INTEGER)


def is_operation(unit: MultiFpu, ports: data.View[data.StructLayout], *ops: MultiFpuOp) -> Value:
    offered = unit.operations
    found = [index for index, op in enumerate(offered) if op in ops]
    if len(found) in (0, len(offered)):
        return Const(bool(found), 1)
    last = len(offered) - 1
    return any_of(ports.op >= last if index == last else ports.op == index for index in found)


def targets(unit: MultiFpu) -> int:
    """Return the number of rounding targets: all integer formats share one target."""
    return len(unit.formats) + bool(unit.integers)


def overflows(unit: MultiFpu) -> tuple[Overflow, ...]:
    fixed = filter(None, map(unit.fixed_overflow, unit.formats))
    return tuple(dict.fromkeys((*unit.overflow_choices, *fixed)))


def threshold_bits(unit: MultiFpu) -> int:
    """Return the threshold width of HiFloat8's hybrid rounding, or 0 without hybrid rounding."""
    return max((sum(HiFloat8.threshold_bits(fmt)) for fmt in unit.hybrid_sources), default=0)


def by_vector(unit: MultiFpu, vector: Value, whole: Value, in_lanes: Sequence[Value]) -> Value:
    """Select `whole`, or the value for the lane width that the port `vector` selects."""
    *before, last = in_lanes
    for number, value in reversed([*enumerate(before, 1)]):
        last = Mux(vector == number, value, last)
    return Mux(vector if len(unit.lane_widths) == 1 else vector != 0, last, whole)
