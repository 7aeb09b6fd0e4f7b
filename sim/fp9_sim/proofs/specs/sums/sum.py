"""Specification of a multiply-add in FP32: one exact product, a wide integer sum, one rounding.

The specification limits the exponent difference of product and addend, because a much smaller term affects only the
sticky bit. Zeros, infinities and NaN have a separate proof case, which follows IEEE 754-2019 6.1 to 6.3 and 7.2.

A sum of an 8-bit product and an FP32 addend does not overflow. Sums below the normal range of FP32 are exact.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from fp9.formats import FixedFormat, Format, Rounding
from fp9.formats.rounding import Flags
from fp9.units import OPERAND_SIGNIFICAND_BITS, Dot, significand_bits
from fp9_sim.proofs.miter import Case, selected
from fp9_sim.proofs.specs.casts.decoder import decoded
from fp9_sim.proofs.specs.sums.round import ROUNDS_UP

NARROW_EXPONENT = "signed [11:0]"
PRODUCT_BITS = 8


def sum_cases(unit: Dot) -> Iterator[Case]:
    result = unit.engine.result.format
    assert isinstance(result, FixedFormat)
    widths = {port.name: port.width for port in unit.inputs}
    for (i, a), (j, b) in itertools.product(enumerate(unit.a), enumerate(unit.b)):
        fixed_a, chosen_a = selected("a_format", len(unit.a), i, widths.get("a_format", 0))
        fixed_b, chosen_b = selected("b_format", len(unit.b), j, widths.get("b_format", 0))
        chosen = f"{chosen_a} && {chosen_b}"
        texts = [_special(a, b, result, chosen, broken) for broken in (False, True)]
        yield Case(f"{a.name} x {b.name}, zero, infinity or NaN", fixed_a | fixed_b, *texts)
        for kind, subtract in (("sum", False), ("difference", True)):
            condition = f"{chosen} && ordinary && subtract == {int(subtract)}"
            texts = [_specification(a, b, result, condition, broken) for broken in (False, True)]
            yield Case(f"{a.name} x {b.name}, {kind}", fixed_a | fixed_b, *texts)


def _terms(a: Format, b: Format, result: FixedFormat) -> list[str]:
    p, bits = result.fraction_bits, result.bits
    e = NARROW_EXPONENT
    field, fraction = f"c[{bits - 2}:{p}]", f"c[{p - 1}:0]"
    return [
        *operand_by_table("a", a),
        *operand_by_table("b", b),
        f"  wire [{PRODUCT_BITS - 1}:0] product = a_significand * b_significand;",
        f"  wire {e} product_place = a_exponent + b_exponent - 6;",
        f"  wire [{p}:0] addend = {{{field} != 0, {fraction}}};",
        f"  wire {e} addend_place = $signed({{1'b0, {field} == 0 ? 1 : {field}}}) - {result.bias + p};",
        f"  wire {e} distance = addend_place - product_place;",
        "  wire c_zero = addend == 0;",
        f"  wire c_inf = &{field} && {fraction} == 0; wire c_nan = &{field} && {fraction} != 0;",
        "  wire ordinary = !(a_inf || a_nan || a_zero || b_inf || b_nan || b_zero || c_inf || c_nan || c_zero);",
        f"  wire product_sign = a_sign ^ b_sign; wire addend_sign = c[{bits - 1}];",
    ]


def _special(a: Format, b: Format, result: FixedFormat, chosen: str, broken: bool) -> str:
    p, bits = result.fraction_bits, result.bits
    e = NARROW_EXPONENT
    nan, infinity = result.nan_code(False), result.inf_code(False)
    both_negative = f"product_sign {'|' if broken else '&'} addend_sign"
    lines = [
        *_terms(a, b, result),
        "  wire quiet = a_nan || b_nan || c_nan;",
        "  wire product_inf = a_inf || b_inf; wire product_zero = a_zero || b_zero;",
        "  wire invalid = !quiet && ((a_inf && b_zero) || (a_zero && b_inf)",
        "    || (product_inf && c_inf && product_sign != addend_sign));",
        f"  reg {e} leading; integer i;",
        f"  always @* begin leading = 0; for (i = 0; i < {PRODUCT_BITS}; i = i + 1) if (product[i]) leading = i; end",
        f"  wire [{bits - 1}:0] exact = ((leading + product_place + {result.bias - 1}) << {p})",
        f"    + ({{{p}'d0, product}} << ({p} - leading));",
        f"  wire [{bits - 1}:0] value = quiet || invalid ? {bits}'d{nan}",
        f"    : product_inf ? {{product_sign, {bits - 1}'d{infinity}}} : c_inf ? c",
        f"    : product_zero && c_zero ? {{{both_negative}, {bits - 1}'d0}} : product_zero ? c",
        f"    : {{product_sign, exact[{bits - 2}:0]}};",
        f"  wire [4:0] raised = invalid ? {int(Flags.INVALID)} : 0;",
        f"  assign ok = !({chosen} && !ordinary) || (result == value && flags == raised);",
    ]
    return "\n".join(lines)


def _specification(a: Format, b: Format, result: FixedFormat, condition: str, broken: bool) -> str:
    """Return the specification of a multiply-add for finite nonzero operands: add exactly, then round."""
    p, bits = result.fraction_bits, result.bits
    below, above = 2 * p + 4, PRODUCT_BITS + 4
    width = p + 1 + PRODUCT_BITS + below + above + 2
    lowest = result.lowest_exponent - p
    up_rule = ROUNDS_UP[Rounding.RNA if broken else Rounding.RNE]
    e = NARROW_EXPONENT
    lines = [
        *_terms(a, b, result),
        "  wire subtract = product_sign ^ addend_sign;",
        f"  wire far_below = distance < -{below}; wire far_above = distance > {above};",
        f"  wire {e} up = far_below ? 0 : far_above ? {below + above} : distance + {below};",
        f"  wire [{width - 1}:0] x = product; wire [{width - 1}:0] y = addend;",
        f"  wire [{width - 1}:0] wide_product = x << {below}; wire [{width - 1}:0] wide_addend = y << up;",
        "  wire addend_larger = wide_addend > wide_product;",
        f"  wire [{width - 1}:0] total = !subtract ? wide_product + wide_addend",
        "    : addend_larger ? wide_addend - wide_product : wide_product - wide_addend;",
        "  wire negative = subtract && addend_larger ? addend_sign : product_sign;",
        f"  wire {e} place = far_above ? addend_place - {below + above} : product_place - {below};",
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
        f"  assign ok = !({condition}) || (result == value && flags == inexact);",
    ]
    return "\n".join(lines)


@functools.lru_cache(maxsize=64)
def operand_by_table(name: str, fmt: Format) -> tuple[str, ...]:
    if significand_bits((fmt,)) > OPERAND_SIGNIFICAND_BITS:
        raise ValueError(f"no proof is available for sums of {fmt.name} products; run fp9 sweep")
    rows = [decoded(fmt, code, OPERAND_SIGNIFICAND_BITS) for code in range(1 << fmt.bits)]
    e = NARROW_EXPONENT
    kinds = ", ".join(f"{name}_{kind}" for kind in ("zero", "inf", "nan"))
    cases = [
        f"    8'd{code}: begin {name}_sign = {sign}; {name}_exponent = {exponent}; {name}_significand = {significand}; "
        f"{{{kinds}}} = 3'b{zero}{inf}{nan}; end"
        for code, (sign, exponent, significand, zero, inf, nan) in enumerate(rows)
    ]
    return (
        f"  reg {name}_sign, {kinds}; reg {e} {name}_exponent; reg [7:0] {name}_significand;",
        f"  always @* case ({name})",
        *cases,
        "  endcase",
    )
