"""SystemVerilog coverage of casts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fp9.formats import Format, floor_log2
from fp9.units import SCALE_BITS, Cast
from fp9_sim.coverage.casts import binades
from fp9_sim.coverage.covergroups.codes import selected
from fp9_sim.coverage.covergroups.numbers import ZERO
from fp9_sim.coverage.covergroups.part import Part
from fp9_sim.coverage.model import CLASSES, FLAGS, LAST_PLACES, POSITIONS, SIGNS
from fp9_sim.coverage.values import lowest_place


def cast(part: Part, unit: Cast) -> str:
    source, lowest = unit.source, -1 << (SCALE_BITS - 1) if unit.scale else 0
    ulp = lowest_place(source) + lowest
    longest = floor_log2(source.max_magnitude) - ulp + 2 - 2 * lowest
    part.numbers.need(longest + 2)
    scale = f"int'($signed(scale)) - ({lowest})" if unit.scale else "0"
    lines = ["number_t x_number, y;", "wide_t magnitude;", "int top;"]
    names = zip(*(unit.lane_names(port) for port in ("x", "result", "flags")), strict=True)
    for x, result, flags in names:
        lines += [
            f"x_number = {part.numbers.read(source)}({x}, 0);",
            f"magnitude = magnitude_of(units(x_number, {lowest_place(source)})) << ({scale});",
            f"top = length_of(magnitude) - 1 + ({ulp});",
        ]
        for fmt, start in selected("target", unit.targets):
            lines += [f"{start}begin", *_target(part, unit, fmt, ulp, longest, result, flags), "end"]
    return part.function(lines)


def _target(part: Part, unit: Cast, fmt: Format, ulp: int, longest: int, result: str, flags: str) -> Iterator[str]:
    group, (low, high) = part.groups[fmt.name], binades(unit, fmt)
    dropped = f"{part.numbers.dropped(fmt, ulp, longest)}(length_of(magnitude))"
    yield group.clear
    yield f"y = {part.numbers.read(fmt)}({result}, 0);"
    yield from group.set("source", "x_number.kind", CLASSES)
    yield from group.set("sign", "int'(x_number.negative)", SIGNS)
    yield from group.set("rounding", choice("rounding", unit.roundings), tuple(r.value for r in unit.roundings))
    yield from group.set("overflow", choice("overflow", unit.overflow), tuple(o.value for o in unit.overflow))
    yield from group.set("result", "y.kind", CLASSES)
    yield from group.set("flags", f"flag_of({flags})", FLAGS)
    yield f"if (is_number(x_number) && x_number.kind != {ZERO}) begin"
    yield from group.set("binade", f"limited(top, {low}, {high})")
    yield f"if (top <= {high}) begin"
    yield from group.set("position", f"position_of(magnitude, {dropped})", POSITIONS)
    yield from group.set("last_place", f"last_of(magnitude, {dropped})", LAST_PLACES)
    yield "end"
    yield "end"
    yield group.hit


def choice(port: str, offered: Sequence[object]) -> str:
    return f"limited(int'({port}), 0, {len(offered) - 1})" if len(offered) > 1 else "0"
