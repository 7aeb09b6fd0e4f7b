"""SystemVerilog coverage of accumulators."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Mac, MacOp
from fp9_sim.coverage.accumulators.kulisch import STATES, product_sum
from fp9_sim.coverage.accumulators.sequences import SOURCES
from fp9_sim.coverage.computed_sum import sum_of
from fp9_sim.coverage.covergroups.casts import choice
from fp9_sim.coverage.covergroups.groups import CoverGroup
from fp9_sim.coverage.covergroups.numbers import NAN
from fp9_sim.coverage.covergroups.part import Part
from fp9_sim.coverage.covergroups.sums import Added, gating, pairs
from fp9_sim.coverage.model import CLASSES, LAST_PLACES, POSITIONS, SIGNS
from fp9_sim.coverage.sums import SumCoverage


def mac(part: Part, unit: Mac) -> str:
    return part.function(_kulisch(part, unit) if unit.engine.step.exact else _plain(part, unit))


def _sequence(part: Part, unit: Mac, group: CoverGroup) -> Iterator[str]:
    names = tuple(op.name.lower() for op in unit.operations)
    previous = part.kept("previous", "int", "-1")
    yield f"operation = {choice('op', names)};"
    yield from group.set("operation", "operation", names)
    yield f"if ({previous} >= 0) begin"
    yield from group.set("previous", previous, names)
    yield "end"
    yield f"{previous} = operation;"


def _is(unit: Mac, *ops: MacOp) -> str:
    return " || ".join(f"operation == {unit.operations.index(op)}" for op in ops if op in unit.operations) or "0"


def _plain(part: Part, unit: Mac) -> Iterator[str]:
    group = part.groups[""]
    sum_ = Added(part, group, SumCoverage(sum_of(unit), unit.flags, tuple(SOURCES.values())), pairs(unit))
    output, addend = (part.numbers.read(f) for f in (unit.engine.output, unit.engine.addend_format))
    held = part.kept("held", f"logic [{unit.engine.output.bits - 1}:0]", "0")
    yield from (*sum_.declarations, "number_t held;", "int operation, gated;")
    yield from sum_.operands()
    yield f"held = {output}({held}, 0);"
    yield group.clear
    yield from _sequence(part, unit, group)
    yield from group.set("held", "held.kind", CLASSES)
    yield from gating(part, unit, group)
    yield f"addend = {_is(unit, MacOp.LOAD)} ? {addend}(c, 0) : held;"
    adds = _is(unit, *SOURCES)
    yield f"if ({adds}) begin"
    yield from group.set("addend", f"int'({_is(unit, MacOp.LOAD)})", ("accumulator", "c"))
    yield from sum_.step()
    yield from sum_.outcome()
    yield "end"
    yield group.hit
    yield f"if ({adds}) begin"
    yield from sum_.each_lane()
    yield "end"
    yield f"{held} = result;"


def _kulisch(part: Part, unit: Mac) -> Iterator[str]:
    group, numbers = part.groups[""], part.numbers
    covered = SumCoverage(product_sum(unit), unit.flags)
    sum_ = Added(part, group, covered, pairs(unit))
    fmt, ulp, bits = sum_.sum.result, sum_.sum.products.ulp, unit.sum_bits
    register, state = part.kept("register", "wide_t", "0"), part.kept("state", "int", "0")
    yield from (*sum_.declarations, "int operation;")
    yield from sum_.operands()
    numbers.need(bits + 4)
    yield group.clear
    yield from _sequence(part, unit, group)
    yield from group.set("state", state, STATES)
    yield from sum_.outcome()
    yield f"if ({_is(unit, MacOp.LOAD, MacOp.CLEAR)}) begin"
    yield f"{register} = 0;"
    yield f"{state} = 0;"
    yield "end"
    yield f"if ({_is(unit, MacOp.LOAD, MacOp.ACCUMULATE)}) begin"
    yield from sum_.formats()
    yield f"if (!numbers || {state} != 0) begin"
    yield f"{state} = y.kind == {NAN} ? 3 : 1 + int'(y.negative);"
    yield "end else begin"
    yield f"total = {register} + summed;"
    yield from group.set("wrap", _wrap(bits), ("none", "up", "down"))
    yield f"{register} = $signed(total[{bits - 1}:0]);"
    yield "end"
    yield "end"
    yield f"if ({register} != 0 && {state} == 0) begin"
    yield f"dropped = {numbers.dropped(fmt, ulp, bits)}(length_of({register}));"
    yield from group.set("leading", f"smaller(length_of({register}) - 1, {bits - 2})")
    yield from group.set("sign", f"int'({register} < 0)", SIGNS)
    yield from group.set("position", f"position_of(magnitude_of({register}), dropped)", POSITIONS)
    yield from group.set("last_place", f"last_of(magnitude_of({register}), dropped)", LAST_PLACES)
    yield "end"
    yield group.hit
    yield f"if ({_is(unit, MacOp.LOAD, MacOp.ACCUMULATE)}) begin"
    yield from sum_.factors()
    yield "end"


def _wrap(bits: int) -> str:
    half = f"(wide_t'(1) << {bits - 1})"
    return f"total >= {half} ? 1 : total < -{half} ? 2 : 0"
