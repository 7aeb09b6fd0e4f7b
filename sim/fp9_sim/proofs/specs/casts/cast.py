"""Specification of casts: compare the operand with the thresholds of `fp9.oracle.thresholds`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from fp9.formats import FixedFormat, Format, HiFloat8
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import FLAG_BITS, Flags
from fp9.oracle.hybrid import Binade, Field, HybridTable, hybrid_table
from fp9.oracle.thresholds import Step, ThresholdTable, threshold_table
from fp9.units import Cast
from fp9_sim.proofs.miter import Case, selected
from fp9_sim.proofs.specs.casts.stochastic import stochastic

Table = ThresholdTable | HybridTable


def cast_cases(unit: Cast) -> Iterator[Case]:
    widths = {port.name: port.width for port in unit.inputs}
    offers = (range(unit.lanes), enumerate(unit.targets), enumerate(unit.roundings), enumerate(unit.overflow))
    for lane, (i, target), (j, rounding), (k, overflow) in itertools.product(*offers):
        fixed: dict[str, int] = {}
        conditions = []
        for port, choices, index in (
            ("target", unit.targets, i),
            ("rounding", unit.roundings, j),
            ("overflow", unit.overflow, k),
        ):
            held, condition = selected(port, len(choices), index, widths.get(port, 0))
            fixed |= held
            conditions.append(condition)
        policy, chosen = unit.policy(target, rounding, overflow), " && ".join(conditions)
        texts = _texts(unit, lane, target, policy, chosen)
        name = f"{target.name} {rounding.value} {overflow.value}" + (f", lane {lane}" if unit.lanes > 1 else "")
        yield Case(name, fixed, texts[0], texts[1] if k == 0 else None)


def _texts(unit: Cast, lane: int, target: Format, policy: CastPolicy, chosen: str) -> tuple[str, str]:
    source = unit.source
    assert isinstance(source, FixedFormat)
    random = policy.rounding_for(target).needs_bits
    ports = _ports(unit, lane, random)
    if random:
        bodies = [stochastic(source, target, policy, unit.random_bits, broken) for broken in (False, True)]
    else:
        tables = [table_of(source, target, policy, negative) for negative in (False, True)]
        bodies = [expected(tables), expected([broken(tables[0]), tables[1]])]
    compared = f"  assign ok = !({chosen}) || {{{ports['result']}, {ports['flags']}}} == expected;"
    head = magnitude(source, ports, "scale" if unit.scale else None)
    right, wrong = ("\n".join([*head, *body, compared]) for body in bodies)
    return right, wrong


def _ports(unit: Cast, lane: int, random: bool) -> dict[str, str]:
    names = ("x", "result", "flags", *(["random"] if random else []))
    return {name: unit.lane_names(name)[lane] for name in names}


def table_of(source: FixedFormat, target: Format, policy: CastPolicy, negative: bool) -> Table:
    if isinstance(target, HiFloat8) and policy.rounding_for(target).reads_source:
        return hybrid_table(source, target, policy, negative)
    return threshold_table(source, target, policy, negative)


def broken(table: Table) -> Table:
    if isinstance(table, HybridTable):
        largest = len(table.numbers) - 2
        return dataclasses.replace(table, numbers=_later(table.numbers, largest))
    return dataclasses.replace(table, steps=_later(table.steps, len(table.steps) // 2))


def _later(steps: Sequence[Step], index: int) -> tuple[Step, ...]:
    # If entry `index` covers only one magnitude, the nearest earlier entry that covers more is changed.
    while index + 1 < len(steps) and steps[index + 1].first == steps[index].first + 1:
        index -= 1
    moved = dataclasses.replace(steps[index], first=steps[index].first + 1)
    return (*steps[:index], moved, *steps[index + 1 :])


# --- Verilog --------------------------------------------------------------------------------------------------------


def magnitude(source: FixedFormat, ports: dict[str, str], scale: str | None) -> list[str]:
    """Return Verilog for a lane's wires `negative` (sign), `m` (magnitude times 2^scale) and `added` (random bits)."""
    p, width = source.fraction_bits, source.bits - 1
    x = ports["x"]
    lines = [f"  wire negative = {x}[{width}]; wire [{width - 1}:0] raw = {x}[{width - 1}:0];"]
    if "random" in ports:
        lines.append(f"  wire [63:0] added = {ports['random']};")
    if not scale:
        return [*lines, f"  wire [{width - 1}:0] m = raw;"]
    # A scaled magnitude outside the source format's normal range is replaced by the smallest or largest source number,
    # which rounds to the same result.
    field = f"raw[{width - 1}:{p}]"
    return [
        *lines,
        f"  wire [{p}:0] significand = {{{field} != 0, raw[{p - 1}:0]}};",
        "  reg signed [11:0] leading; integer i;",
        f"  always @* begin leading = 0; for (i = 0; i <= {p}; i = i + 1) if (significand[i]) leading = i; end",
        f"  wire [{p}:0] normal = significand << ({p} - leading);",
        f"  wire signed [11:0] moved = $signed({{1'b0, {field} == 0 ? 1 : {field}}}) + leading - {p}",
        f"    + $signed({scale});",
        f"  wire [{width - 1}:0] m = &{field} || significand == 0 ? raw",
        f"    : moved < 1 ? {width}'d1 : moved > {source.max_code >> p} ? {width}'d{source.max_code}",
        f"    : {{moved[{width - p - 1}:0], normal[{p - 1}:0]}};",
    ]


def expected(tables: Sequence[Table]) -> list[str]:
    lines = []
    for name, table in zip(("positive", "negative"), tables, strict=True):
        lines += _hybrid(table, name) if isinstance(table, HybridTable) else _monotone(table, name)
    return [
        *lines,
        f"  wire [{7 + FLAG_BITS}:0] expected = negative ? {{negative_code, negative_flags}} : "
        "{positive_code, positive_flags};",
    ]


def _monotone(table: ThresholdTable, name: str) -> list[str]:
    width = table.source.bits - 1
    exact = " || ".join(["m == 0", *(f"m == {width}'d{pattern}" for pattern in table.exact)])
    special = f"m >= {width}'d{table.nan_from} ? {_flags(table.nan_flags)}"
    if table.infinity is not None:
        special += f" : m == {width}'d{table.infinity} ? {_flags(table.infinity_flags)}"
    return [
        f"  wire [7:0] {name}_code = {_ladder(table.steps, width)};",
        f"  wire {name}_exact = {exact};",
        f"  wire [{FLAG_BITS - 1}:0] {name}_flags = {special}",
        f"    : m >= {width}'d{table.overflow_from} ? {_flags(Flags.OVERFLOW | Flags.INEXACT)}",
        f"    : {name}_exact ? {_flags(Flags(0))}",
        f"    : m < {width}'d{table.tiny_below} ? {_flags(Flags.UNDERFLOW | Flags.INEXACT)} : {_flags(Flags.INEXACT)};",
    ]


def _ladder(steps: Sequence[Step], width: int) -> str:
    rungs = "".join(f"m >= {width}'d{step.first} ? 8'd{step.code} : " for step in reversed(steps[1:]))
    return f"{rungs}8'd{steps[0].code}"


def _flags(flags: Flags) -> str:
    return f"{FLAG_BITS}'d{int(flags)}"


def _hybrid(table: HybridTable, name: str) -> list[str]:
    width, p = table.source.bits - 1, table.source.fraction_bits
    bits = table.threshold_bits + table.threshold_ones
    threshold = ", ".join([f"raw[{table.threshold_bits - 1}:0]", *["1'b1"] * table.threshold_ones])
    fields = "".join(f"{_within(b, width)} ? {_field(b.field, name)} : " for b in table.binades)
    near = table.near_normal
    ones = table.near_normal_ones
    above = "".join(
        f"m >= {width}'d{step.first} ? 8'd{following.code} : "
        for step, following in reversed(list(itertools.pairwise(table.numbers))[1:])
    )
    rounding_up_overflows = f"m >= {width}'d{table.numbers[-2].first}"
    exact = " || ".join(f"m == {width}'d{number.first}" for number in table.numbers[1:-1])
    return [
        *_monotone(table.nearest, f"{name}_nearest"),
        f"  wire {name}_stochastic = "
        + " || ".join(f"(m >= {width}'d{first} && m < {width}'d{end})" for first, end in table.ranges)
        + ";",
        f"  wire [{p}:0] {name}_significand = {{m[{width - 1}:{p}] != 0, m[{p - 1}:0]}};",
        f"  wire [{bits - 1}:0] {name}_threshold = {{{threshold}}};",
        f"  wire [{bits - 1}:0] {name}_field = {fields}{bits}'d0;",
        f"  wire {name}_up = {name}_field >= {name}_threshold;",
        f"  wire [7:0] {name}_below = {_ladder(table.numbers[:-1], width)};",
        f"  wire [7:0] {name}_above = {above}8'd{table.numbers[1].code};",
        f"  wire {name}_tiny = m < {width}'d{near.first} || ({_within(near, width)}",
        f"    && !(&{name}_significand[{ones.high}:{ones.low}] && {_field(near.field, name)} >= {name}_threshold));",
        f"  wire {name}_exact = !{name}_up && ({exact});",
        f"  wire [7:0] {name}_code = !{name}_stochastic ? {name}_nearest_code",
        f"    : {name}_up ? {name}_above : {name}_below;",
        f"  wire [{FLAG_BITS - 1}:0] {name}_flags = !{name}_stochastic ? {name}_nearest_flags",
        f"    : {name}_exact ? {_flags(Flags(0))}",
        f"    : {name}_up && {rounding_up_overflows} ? {_flags(Flags.OVERFLOW | Flags.INEXACT)}",
        f"    : {name}_tiny ? {_flags(Flags.UNDERFLOW | Flags.INEXACT)} : {_flags(Flags.INEXACT)};",
    ]


def _within(binade: Binade, width: int) -> str:
    return f"(m >= {width}'d{binade.first} && m < {width}'d{binade.end})"


def _field(field: Field, name: str) -> str:
    bits = f"{name}_significand[{field.high}:{field.low}]"
    return f"{{{bits}, {field.pad}'d0}}" if field.pad else bits
