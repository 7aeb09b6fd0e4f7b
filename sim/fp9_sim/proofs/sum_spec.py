"""The specification of a multiply-add: decode by table, shift everything into one wide integer, round once.

A case fixes the formats of both operands and the distance between the last places of addend and product, so that all
shifts of the terms are constant; far distances, where one term is only sticky to the other, are one case each side.

The result is FP32, to nearest even: no sum with an 8-bit product overflows it or ends below its normal numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from fp9.formats import FixedFormat, Format
from fp9.units import Fma
from fp9_sim.proofs.decoder_spec import decoded
from fp9_sim.proofs.miter import Case, selected

_EXPONENT_BITS = 12
_PRODUCT_BITS = 8


def sum_cases(unit: Fma) -> Iterator[Case]:
    """Cases by formats, distance and effective subtraction; one control for each pair of formats."""
    result = unit.engine.result
    assert isinstance(result, FixedFormat)
    widths = {port.name: port.width for port in unit.inputs}
    for (i, a), (j, b) in itertools.product(enumerate(unit.a), enumerate(unit.b)):
        fixed_a, chosen_a = selected("a_format", len(unit.a), i, widths.get("a_format", 0))
        fixed_b, chosen_b = selected("b_format", len(unit.b), j, widths.get("b_format", 0))
        low, high = -2 * result.fraction_bits - 4, _PRODUCT_BITS + 4
        for distance in range(low, high + 1):
            for subtract in (False, True):
                side = "<=" if distance == low else ">=" if distance == high else "=="
                place = f"distance {side} {distance}"
                condition = f"{chosen_a} && {chosen_b} && finite && {place} && subtract == {int(subtract)}"
                text = _specification(a, b, result, distance, condition, broken=False)
                control = _specification(a, b, result, distance, condition, broken=True) if distance == -4 else None
                kind = "difference" if subtract else "sum"
                yield Case(f"{a.name} x {b.name}, {place}, {kind}", fixed_a | fixed_b, text, control)


def _specification(a: Format, b: Format, result: FixedFormat, distance: int, condition: str, broken: bool) -> str:
    """Decode, add, round; `broken` rounds ties away."""
    p, bits = result.fraction_bits, result.bits
    width = p + 1 + _PRODUCT_BITS + abs(distance) + 2
    up, left = max(0, distance), max(0, -distance)
    lowest = result.lowest_exponent - p
    hidden = f"c[{bits - 2}:{p}] != 0"
    special, field = f"&c[{bits - 2}:{p}]", f"c[{bits - 2}:{p}]"
    base = f"({field} == 0 ? 1 : {field})"
    up_rule = "guard" if broken else "guard && (rest || kept[0])"
    e = f"signed [{_EXPONENT_BITS - 1}:0]"
    lines = [
        *_operand("a", a),
        *_operand("b", b),
        f"  wire [{_PRODUCT_BITS - 1}:0] product = a_significand * b_significand;",
        f"  wire {e} product_place = a_exponent + b_exponent - 6;",
        f"  wire [{p}:0] addend = {{{hidden}, c[{p - 1}:0]}};",
        f"  wire {e} addend_place = $signed({{1'b0, {base}}}) - {result.bias + p};",
        f"  wire {e} distance = addend_place - product_place;",
        f"  wire finite = a_finite && b_finite && !({special}) && product != 0 && addend != 0;",
        f"  wire product_sign = a_sign ^ b_sign; wire addend_sign = c[{bits - 1}];",
        "  wire subtract = product_sign ^ addend_sign;",
        f"  wire [{width - 1}:0] x = product; wire [{width - 1}:0] y = addend;",
        f"  wire [{width - 1}:0] wide_product = x << {left}; wire [{width - 1}:0] wide_addend = y << {up};",
        "  wire addend_larger = wide_addend > wide_product;",
        f"  wire [{width - 1}:0] total = !subtract ? wide_product + wide_addend",
        "    : addend_larger ? wide_addend - wide_product : wide_product - wide_addend;",
        "  wire negative = subtract && addend_larger ? addend_sign : product_sign;",
        f"  wire {e} place = {f'addend_place - {up}' if distance >= 0 else f'product_place - {left}'};",
        f"  reg {e} leading; integer i;",
        f"  always @* begin leading = 0; for (i = 0; i < {width}; i = i + 1) if (total[i]) leading = i; end",
        f"  wire {e} normal_place = place + leading - {p};",
        f"  wire {e} last_place = normal_place < {lowest} ? {lowest} : normal_place;",
        f"  wire {e} dropped = last_place - place;",
        f"  wire [{width + p + 1}:0] long = total;",
        f"  wire [{width + p + 1}:0] shifted = dropped < 0 ? long << -dropped : long >> dropped;",
        f"  wire [{p}:0] kept = shifted[{p}:0];",
        f"  wire guard = dropped > 0 && |(total & ({width}'d1 << (dropped - 1)));",
        f"  wire rest = dropped > 1 && |(total & (({width}'d1 << (dropped - 1)) - 1));",
        f"  wire [{p + 1}:0] rounded = kept + ({up_rule});",
        f"  wire [{bits + 1}:0] magnitude = rounded + ((last_place - {lowest}) << {p});",
        "  wire inexact = guard || rest;",
        f"  wire [{bits - 1}:0] value = total == 0 ? 0 : {{negative, magnitude[{bits - 2}:0]}};",
        f"  assign ok = !({condition}) || (result == value && flags[0] == inexact);",
    ]
    return "\n".join(lines)


def _operand(name: str, fmt: Format) -> list[str]:
    """An operand's fields by table."""
    rows = [decoded(fmt, code) for code in range(1 << fmt.bits)]
    e = f"signed [{_EXPONENT_BITS - 1}:0]"
    cases = [
        f"    8'd{code}: begin {name}_sign = {sign}; {name}_exponent = {exponent}; {name}_significand = {significand}; "
        f"{name}_finite = {int(not (inf or nan))}; end"
        for code, (sign, exponent, significand, _, inf, nan) in enumerate(rows)
    ]
    return [
        f"  reg {name}_sign, {name}_finite; reg {e} {name}_exponent; reg [7:0] {name}_significand;",
        f"  always @* case ({name})",
        *cases,
        "  endcase",
    ]
