"""Specification of quantisers with a tensor scale. The specification uses multiplications in place of divisions.

A quantiser rounds amax / (divisor * tensor scale) to a block scale, where amax is the block's largest magnitude. The
scale rule defines the divisor. The block scale is S or larger if amax exceeds P * divisor * tensor scale. If the scale
rule rounds to nearest, P is the midpoint between S and the next smaller block scale. If the scale rule rounds up, P is
the next smaller block scale. An element is E or larger if the magnitude of the input number exceeds M * block scale *
tensor scale. Here, M is the midpoint between the element value E and the next smaller element value. Ties round to the
even code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from fp9.formats.blocks import ScaleRule
from fp9.formats.rounding import Rounding
from fp9.units import TENSOR_SCALE, Quantiser
from fp9_sim.proofs.miter import Case, selected

_T = f"{{1'b1, tensor[{TENSOR_SCALE.fraction_bits - 1}:0]}}"


def limit_cases(unit: Quantiser) -> Iterator[Case]:
    for index, rule in enumerate(unit.rules):
        yield from _scale_cases(unit, index, rule)
    yield from _element_cases(unit)


# --- elements ---------------------------------------------------------------------------------------------------------


def _element_cases(unit: Quantiser) -> Iterator[Case]:
    scale = unit.block.scale
    bits = scale.precision - 1
    # Each case covers all exponents of the block scale.
    for significand in range(1, 2 << bits):
        high, low = f"scale[{scale.bits - 1}:{bits}]", f"scale[{bits - 1}:0] == {significand % (1 << bits)}"
        normal = significand >> bits
        condition = f"{low} && {high} {'!=' if normal else '=='} 0 && scale <= {scale.max_code}"
        field = high if normal else "1"
        right, wrong = (_element(unit, condition, significand, field, late) for late in (0, 1))
        name = f"element of x0, {'normal' if normal else 'subnormal'} scale of significand {significand}"
        yield Case(name, {}, right, wrong if significand == 1 else None)
    yield Case("elements of the scales 0 and nan", {}, _without_scale(unit, ""), _without_scale(unit, " ^ 1'b1"))
    for x, name in list(zip(unit.lane_names("x"), unit.lane_names("element"), strict=True))[1:]:
        yield Case(f"element of {x}, as that of x0", {}, _same(unit, x, name, ""), _same(unit, x, name, " ^ 1'b1"))


def _element(unit: Quantiser, condition: str, significand: int, field: str, late: int) -> str:
    block, source = unit.block, unit.source
    numbers = [block.element.value_of(code) for code in range(block.element.max_code + 1)]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(numbers)]
    finest = max(middle.denominator for middle in middles).bit_length() - 1
    counts = [int(middle * (1 << finest)) * significand for middle in middles]
    apart = (
        TENSOR_SCALE.fraction_bits - source.fraction_bits - (block.scale.min_normal_exponent - block.scale.precision)
    )
    lines = _sides(unit, "x0", field, counts[-1], apart + finest)
    reached = [
        f"(left > right * {count + late} || ({number % 2} && left == right * {count + late}))"
        for number, count in enumerate(counts)
    ]
    top = block.element.bits - 2
    return "\n".join(
        [
            *lines,
            f"  wire [{top + 1}:0] count = {' + '.join(reached)};",
            f"  assign ok = !({condition}) || element0 == {{x0[{source.bits - 1}], count[{top}:0]}};",
        ]
    )


def _sides(unit: Quantiser, x: str, field: str, most: int, apart: int) -> list[str]:
    """Return Verilog of `left` and `right`, the aligned significands of a source number and the tensor scale."""
    source, bits, whole = unit.source, unit.source.fraction_bits, TENSOR_SCALE.fraction_bits
    below, above = source.precision, TENSOR_SCALE.precision + most.bit_length()
    total = above + below + source.precision
    exponent = f"{x}[{source.bits - 2}:{bits}]"
    return [
        f"  wire [{bits}:0] significand = {{{exponent} != 0, {x}[{bits - 1}:0]}};",
        f"  wire signed [15:0] apart = $signed({{8'd0, {exponent}}}) + ({exponent} == 0) - {_signed(field)}",
        f"    - $signed({{8'd0, tensor[{TENSOR_SCALE.bits - 2}:{whole}]}}) + {apart};",
        f"  wire [7:0] distance = apart < -{below} ? 0 : apart > {above} ? {above + below} : apart + {below};",
        f"  wire [{total}:0] left = significand << distance;",
        f"  wire [{total}:0] right = {_T} << {below};",
    ]


def _signed(field: str) -> str:
    return field if field.isdigit() else f"$signed({{8'd0, {field}}})"


def _without_scale(unit: Quantiser, change: str) -> str:
    nan, bits = unit.block.scale.nan_code(False), unit.block.element.bits
    sign = unit.source.bits - 1
    equal = " && ".join(
        f"{name} == ((scale == {nan} ? {bits}'d0 : {{{x}[{sign}], {bits - 1}'d0}}){change if not place else ''})"
        for place, (x, name) in enumerate(zip(unit.lane_names("x"), unit.lane_names("element"), strict=True))
    )
    return f"  assign ok = !(scale == 0 || scale == {nan}) || ({equal});"


def _same(unit: Quantiser, x: str, name: str, change: str) -> str:
    top = unit.block.element.bits - 2
    numbers = f"{x}[{unit.source.bits - 2}:0] == x0[{unit.source.bits - 2}:0]"
    sign = f"(scale == {unit.block.scale.nan_code(False)} ? 1'b0 : {x}[{unit.source.bits - 1}])"
    return f"  assign ok = !({numbers}) || {name} == ({{{sign}, element0[{top}:0]}}{change});"


# --- scales -----------------------------------------------------------------------------------------------------------


def _scale_cases(unit: Quantiser, index: int, rule: ScaleRule) -> Iterator[Case]:
    """Yield a proof case for each block scale: is the largest magnitude large enough for this scale?"""
    width = next((port.width for port in unit.inputs if port.name == "rule"), 0)
    fixed, condition = selected("rule", len(unit.rules), index, width)
    scale = unit.block.scale
    yield Case(f"scale {rule.name}, nan", fixed, _nan(unit, condition, ""), _nan(unit, condition, "!"))
    for code in range(1, scale.max_code + 1):
        right, wrong = (_scale(unit, rule, condition, code, 0, late) for late in (0, 1))
        yield Case(f"scale {rule.name}, from {code} on, amax x0", fixed, right, wrong if code == 1 else None)
    middle = scale.max_code // 2
    for place, x in list(enumerate(unit.lane_names("x")))[1:]:
        case = _scale(unit, rule, condition, middle, place, 0)
        yield Case(f"scale {rule.name}, from {middle} on, amax {x}", fixed, case, None)


def _largest(unit: Quantiser) -> list[str]:
    top = unit.source.bits - 2
    lines = [f"  wire [{top}:0] m0 = x0[{top}:0];"]
    for place, x in list(enumerate(unit.lane_names("x")))[1:]:
        lines.append(f"  wire [{top}:0] m{place} = {x}[{top}:0] > m{place - 1} ? {x}[{top}:0] : m{place - 1};")
    return [*lines, f"  wire [{top}:0] m = m{unit.width - 1};"]


def _is_number(unit: Quantiser) -> str:
    bits, top = TENSOR_SCALE.fraction_bits, TENSOR_SCALE.max_code >> TENSOR_SCALE.fraction_bits
    exponent = f"tensor[{TENSOR_SCALE.bits - 2}:{bits}]"
    positive = f"!tensor[{TENSOR_SCALE.bits - 1}] && {exponent} != 0 && {exponent} <= {top}"
    return f"({positive} && m <= {unit.source.max_code})"


def _nan(unit: Quantiser, condition: str, change: str) -> str:
    nan = unit.block.scale.nan_code(False)
    compared = f"  assign ok = !({condition}) || {change}((scale == {nan}) == !{_is_number(unit)});"
    return "\n".join([*_largest(unit), compared])


def _scale(unit: Quantiser, rule: ScaleRule, condition: str, code: int, place: int, late: int) -> str:
    scale, source = unit.block.scale, unit.source
    low, high = (scale.value_of(c) if c else Fraction(0) for c in (code - 1, code))
    begins = low if rule.rounding is Rounding.RUP else (low + high) / 2
    starts = [begins * Fraction(divisor) for divisor in rule.tries or (unit.block.divisor(rule),)]
    finest = max(start.denominator for start in starts).bit_length() - 1
    counts = [int(start * (1 << finest)) for start in starts]
    apart = TENSOR_SCALE.fraction_bits - source.fraction_bits + finest
    top = source.bits - 2
    names = unit.lane_names("x")
    largest = " && ".join([condition, *(f"m >= {x}[{top}:0]" for x in names if x != names[place])])
    lines = [f"  wire [{top}:0] m = {names[place]}[{top}:0];", *_sides(unit, "m", "0", max(counts), apart)]
    compared = ">" if rule.rounding is Rounding.RUP or code % 2 else ">="
    reached = [f"(m != 0 && left {compared} right * {count + late})" for count in counts]
    given = f"(scale >= {code})"
    if rule.tries:
        ordered = sorted(zip(counts, reached, strict=True))
        ok = f"(!{ordered[-1][1]} || {given}) && (!{given} || {ordered[0][1]})"
    else:
        ok = f"{given} == {reached[0]}"
    return "\n".join([*lines, f"  assign ok = !({largest}) || !{_is_number(unit)} || ({ok});"])
