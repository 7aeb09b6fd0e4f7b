"""SystemVerilog coverage of decoders, upcasts and multipliers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from fp9.formats import HFP8_BIASES, Format
from fp9.units import Decoder, Mul, Upcast
from fp9_sim.coverage.covergroups.groups import CoverGroup
from fp9_sim.coverage.covergroups.part import Part
from fp9_sim.coverage.model import CLASSES, FLAGS, LAST_PLACES, POSITIONS, SIGNS

_KINDS = ("zero", "number", "infinity", "nan")
_BIASES = ("lowest", "negative", "none", "positive", "highest")


def decoder(part: Part, unit: Decoder) -> str:
    def outputs(group: CoverGroup) -> Iterator[str]:
        yield from group.set("kind", "nan ? 3 : inf ? 2 : zero ? 0 : 1", _KINDS)
        yield "if (!nan) begin"
        yield from group.set("decoded_sign", "int'(sign)", SIGNS)
        yield "end"
        yield "if (!nan && !inf && !zero) begin"
        yield from group.set("exponent", "int'($signed(exponent))")
        yield from group.set("significand", "int'(significand)")
        yield "end"

    return part.function(_by_format(part, unit, outputs))


def upcast(part: Part, unit: Upcast) -> str:
    read = part.numbers.read(unit.result)

    def outputs(group: CoverGroup) -> Iterator[str]:
        yield f"x = {read}(result, 0);"
        yield from group.set("result", "x.kind", CLASSES)
        yield from group.set("flags", "flag_of(flags)", FLAGS)

    return part.function(_by_format(part, unit, outputs))


def _by_format(part: Part, unit: Decoder | Upcast, outputs: Callable[[CoverGroup], Iterator[str]]) -> Iterator[str]:
    yield "number_t x;"
    for fmt, start in selected("code_format", unit.formats):
        group = part.groups[fmt.name]
        yield f"{start}begin"
        yield group.clear
        yield f"x = {part.numbers.read(fmt)}(code, 0);"
        yield from group.set("source", "x.kind", CLASSES)
        yield from group.set("sign", "int'(x.negative)", SIGNS)
        if group.has("bias"):
            yield from group.set("bias", _bias(), _BIASES)
        yield from outputs(group)
        yield group.hit
        yield "end"


def _bias() -> str:
    low, high = HFP8_BIASES[0], HFP8_BIASES[-1]
    value = "int'($signed(code_bias))"
    return f"{value} == {low} ? 0 : {value} == {high} ? 4 : {value} == 0 ? 2 : {value} < 0 ? 1 : 3"


def selected(select: str, formats: Sequence[Format]) -> Iterator[tuple[Format, str]]:
    # A select code above the last format chooses the last format.
    last = len(formats) - 1
    for number, fmt in enumerate(formats):
        condition = f"if ({select} == {number}) " if number < last else ""
        yield fmt, f"{'else ' if number else ''}{condition}"


def mul(part: Part, unit: Mul) -> str:
    fmt = unit.result
    lines = ["number_t a_number, b_number, y;", "wide_t magnitude;", "int dropped;"]
    lines.append(f"y = {part.numbers.read(fmt)}(result, 0);")
    for side, formats in (("a", unit.a), ("b", unit.b)):
        read = part.numbers.chosen(formats, side, f"{side}_format", ["0"] * len(formats))
        lines.append(f"{side}_number = {read};")
    lines += [
        "magnitude = wide_t'(a_number.significand * b_number.significand);",
        "dropped = length_of(magnitude) - 1 + a_number.place + b_number.place;",
        f"dropped = (dropped > {fmt.min_normal_exponent} ? dropped : {fmt.min_normal_exponent}) - {fmt.fraction_bits}"
        " - a_number.place - b_number.place;",
    ]
    for i, j in itertools.product(range(len(unit.a)), range(len(unit.b))):
        group = part.groups[f"{unit.a[i].name} x {unit.b[j].name}"]
        sides = [("a_format", i, len(unit.a)), ("b_format", j, len(unit.b))]
        chosen = [f"{port} {'>=' if n == count - 1 else '=='} {n}" for port, n, count in sides if count > 1]
        lines += [
            f"if ({' && '.join(chosen) or 1}) begin",
            group.clear,
            *group.set("a", "a_number.kind", CLASSES),
            *group.set("b", "b_number.kind", CLASSES),
            *group.set("result", "y.kind", CLASSES),
            *(group.set("flags", "flag_of(flags)", FLAGS) if unit.flags else []),
            "if (is_number(a_number) && is_number(b_number) && magnitude != 0) begin",
            *group.set("sign", "int'(a_number.negative ^ b_number.negative)", SIGNS),
            *group.set("position", "position_of(magnitude, dropped)", POSITIONS),
            *group.set("last place", "last_of(magnitude, dropped)", LAST_PLACES),
            "end",
            group.hit,
            "end",
        ]
    return part.function(lines)
