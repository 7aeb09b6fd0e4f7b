"""SystemVerilog coverage of block quantisers."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.formats import Format, floor_log2
from fp9.units import TENSOR_SCALE, Quantiser
from fp9_sim.coverage.covergroups.casts import choice
from fp9_sim.coverage.covergroups.numbers import ZERO
from fp9_sim.coverage.covergroups.part import Part
from fp9_sim.coverage.model import CLASSES, LAST_PLACES, POSITIONS, SIGNS
from fp9_sim.coverage.quantisers import AMAX, SCALES, SIDES, TENSORS, Over, binades
from fp9_sim.coverage.values import lowest_place


def quantiser(part: Part, unit: Quantiser) -> str:
    """Return the SystemVerilog function that samples the coverage of a block."""
    source, longest = unit.source, _longest(unit)
    part.numbers.need(longest + 2)
    count = unit.block.length
    lines = [f"number_t x_number [{count}], y{'' if unit.block.powers_of_two else ', factor'};"]
    lines += [f"logic [{unit.block.element.bits - 1}:0] element [{count}];"]
    lines += ["wide_t magnitude, largest, by;", "int dropped, top, rule_number, up;", "logic numbers;"]
    lines += ["numbers = 1;", "largest = 0;", "by = 1;"]
    for lane, (x, element) in enumerate(zip(unit.lane_names("x"), unit.lane_names("element"), strict=True)):
        lines += [f"x_number[{lane}] = {part.numbers.read(source)}({x}, 0);", f"element[{lane}] = {element};"]
    lines += [
        f"for (int i = 0; i < {count}; i++) begin",
        f"magnitude = magnitude_of(units(x_number[i], {lowest_place(source)}));",
        "if (!is_number(x_number[i])) numbers = 0;",
        "else if (magnitude > largest) largest = magnitude;",
        "end",
    ]
    lines += [*_scale(part, unit), *_block(part, unit)]
    usable = f"scale <= {unit.block.scale.max_code}" + ("" if unit.block.powers_of_two else " && scale != 0")
    lines += [f"for (int i = 0; i < {count}; i++) if ({usable}) begin", *_element(part, unit, longest), "end"]
    functions = _SIDE_OF if unit.block.powers_of_two else _SIDE_OF + _QUOTIENT_OF
    return functions + part.function(lines)


def _factors(unit: Quantiser) -> list[tuple[Format, str]]:
    return [(unit.block.scale, "scale"), *([(TENSOR_SCALE, "tensor")] if unit.block.tensor else [])]


def _longest(unit: Quantiser) -> int:
    """Return the width in bits of the widest integer that the generated SystemVerilog function computes."""
    formats, place = [fmt for fmt, _ in _factors(unit)], lowest_place(unit.source)
    spread = floor_log2(unit.source.max_magnitude) - place + 1
    low, high = sum(map(lowest_place, formats)), sum(floor_log2(fmt.max_magnitude) for fmt in formats)
    shifts = -place, Over(unit).ulp - place
    by = sum(fmt.precision for fmt in formats)
    divisors = max(max(d.numerator, d.denominator).bit_length() for d in map(unit.block.divisor, unit.rules))
    return max(spread - low - min(shifts), spread, by + high + max(shifts)) + divisors


def _scale(part: Part, unit: Quantiser) -> Iterator[str]:
    """Yield statements that compute `by` and `up`: an element's scale is `by` * 2^`up`."""
    # The element's scale includes the tensor scale if the unit has a tensor scale.
    if unit.block.powers_of_two:
        yield f"up = int'(scale) + ({unit.block.scale.min_normal_exponent});"
        return
    yield "up = 0;"
    for fmt, port in _factors(unit):
        yield f"factor = {part.numbers.read(fmt)}({port}, 0);"
        yield "by = by * factor.significand;"
        yield "up = up + factor.place;"


def _block(part: Part, unit: Quantiser) -> Iterator[str]:
    group, source, top = part.groups["block"], unit.source, unit.block.scale.max_code
    place = lowest_place(source)
    names = tuple(rule.name for rule in unit.rules)
    yield group.clear
    yield f"rule_number = {choice('rule', names)};"
    yield from group.set("rule", "rule_number", names)
    yield from group.set("scale", f"scale > {top} ? 2 : scale != 0 ? 1 : 0", SCALES)
    if unit.block.tensor:
        field = f"int'(tensor >> {TENSOR_SCALE.fraction_bits})"
        most = TENSOR_SCALE.max_code >> TENSOR_SCALE.fraction_bits
        yield from group.set("tensor", f"{field} > 0 && {field} <= {most} ? 0 : 1", TENSORS)
    smallest = f"wide_t'(1) << {source.min_normal_exponent - place}"
    yield from group.set("amax", f"!numbers ? 3 : largest == 0 ? 0 : largest < ({smallest}) ? 1 : 2", AMAX)
    yield f"if (numbers && scale != 0 && scale <= {top - unit.block.tensor}) begin"
    for number, rule in enumerate(unit.rules):
        divisor = unit.block.divisor(rule)  # its denominator is a power of two
        asked = f"wide_t'({divisor.numerator})" if unit.block.powers_of_two else f"by * {divisor.numerator}"
        yield f"if (rule_number == {number}) begin"
        yield from group.set(
            "side", f"side_of(largest, {asked}, up - ({divisor.denominator.bit_length() - 1 + place}))", SIDES
        )
        yield "end"
    yield "end"
    yield group.hit


_SIDE_OF = """\
  // Whether x is below (0), equal to (1) or above (2) y * 2^up.
  function automatic int side_of(input wide_t x, input wide_t y, input int up);
    wide_t left, right;
    left = up < 0 ? x << -up : x;
    right = up > 0 ? y << up : y;
    return left < right ? 0 : left == right ? 1 : 2;
  endfunction

"""
"""Function that compares the largest magnitude of a block with a scale."""

_QUOTIENT_OF = """\
  // x / (y * 2^up), whose last bit is the OR of all lower bits.
  function automatic wide_t quotient_of(input wide_t x, input wide_t y, input int up);
    wide_t left, right;
    left = up < 0 ? x << -up : x;
    right = up > 0 ? y << up : y;
    return (left / right) | wide_t'(left % right != 0);
  endfunction

"""
"""Function that divides an element by a scale that is not a power of two."""


def _element(part: Part, unit: Quantiser, longest: int) -> Iterator[str]:
    group, fmt, ulp, place = part.groups["element"], unit.block.element, Over(unit).ulp, lowest_place(unit.source)
    low, high = binades(fmt)
    yield group.clear
    yield f"y = {part.numbers.read(fmt)}(element[i], 0);"
    yield from group.set("sign", "int'(x_number[i].negative)", SIGNS)
    yield from group.set("result", "y.kind", CLASSES)
    yield f"if (x_number[i].kind != {ZERO}) begin"
    units = f"magnitude_of(units(x_number[i], {place}))"
    if unit.block.powers_of_two:
        yield f"magnitude = {units} << {place - ulp} - up;"
    else:
        yield f"magnitude = quotient_of({units}, by, up + ({ulp - place}));"
    yield f"top = length_of(magnitude) - 1 + ({ulp});"
    yield f"dropped = {part.numbers.dropped(fmt, ulp, longest)}(length_of(magnitude));"
    yield from group.set("binade", f"limited(top, {low}, {high})")
    yield from group.set("position", "position_of(magnitude, dropped)", POSITIONS)
    yield from group.set("last_place", "last_of(magnitude, dropped)", LAST_PLACES)
    yield "end"
    yield group.hit
