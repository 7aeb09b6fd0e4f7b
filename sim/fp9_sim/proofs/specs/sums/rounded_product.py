"""Specification of a multiplier: look up the operands in tables, multiply, round once.

The significands of the operands have at most four bits, so only products below the normal range are rounded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from fp9.formats import Format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags
from fp9.units import Mul
from fp9_sim.proofs.miter import Case, selected
from fp9_sim.proofs.specs.sums.round import ROUNDS_UP
from fp9_sim.proofs.specs.sums.sum import NARROW_EXPONENT, PRODUCT_BITS, operand_by_table

PROVES = "result and flags equal the exact product rounded once, for all a and b of every pair of formats"


def product_cases(unit: Mul) -> Iterator[Case]:
    if unit.result.precision < PRODUCT_BITS:
        raise ValueError(f"no proof is available for products in {unit.result.name}; run fp9 sweep")
    widths = {port.name: port.width for port in unit.inputs}
    for (i, a), (j, b) in itertools.product(enumerate(unit.a), enumerate(unit.b)):
        fixed_a, chosen_a = selected("a_format", len(unit.a), i, widths.get("a_format", 0))
        fixed_b, chosen_b = selected("b_format", len(unit.b), j, widths.get("b_format", 0))
        # The control claims that the product of two negative operands is negative.
        texts = [_specification(unit, a, b, f"{chosen_a} && {chosen_b}", sign) for sign in ("^", "|")]
        yield Case(f"{a.name} x {b.name}", fixed_a | fixed_b, *texts)


def _specification(unit: Mul, a: Format, b: Format, chosen: str, sign: str) -> str:
    fmt, policy = unit.result, CastPolicy(unit.rounding, unit.overflow)
    p, bits = fmt.fraction_bits, fmt.bits
    width = p + 1 + PRODUCT_BITS
    lowest = fmt.min_normal_exponent - p
    top = [fmt.max_code if policy.saturates(fmt, side) else fmt.inf_code(False) for side in (True, False)]
    underflow, overflow = (int(Flags.INEXACT | flag) for flag in (Flags.UNDERFLOW, Flags.OVERFLOW))
    same = "result == value" + (" && flags == raised" if unit.flags else "")
    lines = [
        *operand_by_table("a", a),
        *operand_by_table("b", b),
        f"  wire negative = a_sign {sign} b_sign;",
        "  wire quiet = a_nan || b_nan; wire inf = a_inf || b_inf; wire zero = a_zero || b_zero;",
        "  wire invalid = !quiet && inf && zero;",
        f"  wire [{PRODUCT_BITS - 1}:0] product = a_significand * b_significand;",
        f"  wire {NARROW_EXPONENT} place = a_exponent + b_exponent - 6;",
        f"  reg {NARROW_EXPONENT} leading; integer i;",
        f"  always @* begin leading = 0; for (i = 0; i < {PRODUCT_BITS}; i = i + 1) if (product[i]) leading = i; end",
        f"  wire {NARROW_EXPONENT} normal = place + leading - {p};",
        f"  wire {NARROW_EXPONENT} last = normal < {lowest} ? {lowest} : normal;",
        f"  wire {NARROW_EXPONENT} dropped = last - place;",
        f"  wire [{width - 1}:0] long = product;",
        f"  wire [{width - 1}:0] kept = dropped < 0 ? long << -dropped : long >> dropped;",
        f"  wire guard = dropped > 0 && |(long & ({width}'d1 << (dropped - 1)));",
        f"  wire rest = dropped > 1 && |(long & (({width}'d1 << (dropped - 1)) - 1));",
        f"  wire {NARROW_EXPONENT} field = last - {lowest};",
        f"  wire [63:0] magnitude = kept + ({ROUNDS_UP[unit.rounding]}) + ({{52'd0, field}} << {p});",
        f"  wire beyond = magnitude > {fmt.max_code};",
        f"  wire [{bits - 2}:0] finite = beyond ? (negative ? {top[0]} : {top[1]}) : magnitude[{bits - 2}:0];",
        f"  wire [{bits - 1}:0] value = quiet || invalid ? {fmt.nan_code(False)}",
        f"    : {{negative, inf ? {bits - 1}'d{fmt.inf_code(False)} : zero ? {bits - 1}'d0 : finite}};",
        f"  wire [4:0] raised = invalid ? {int(Flags.INVALID)} : quiet || inf || zero ? 0 : beyond ? {overflow}",
        f"    : guard || rest ? {underflow} : 0;",
        f"  assign ok = !({chosen}) || ({same});",
    ]
    return "\n".join(lines)
