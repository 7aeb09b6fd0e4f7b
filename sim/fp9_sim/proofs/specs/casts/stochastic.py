"""Specification of stochastic rounding: add random bits below the last place, then truncate."""

from __future__ import annotations

from fp9.formats import FixedFormat, Format, Kind
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import FLAG_BITS, Flags
from fp9.oracle.casts import Exact, encode


def stochastic(source: FixedFormat, target: Format, policy: CastPolicy, random_bits: int, broken: bool) -> list[str]:
    """Return Verilog lines that compute the wire `expected`, the code and flags of a stochastic cast."""
    if not isinstance(target, FixedFormat) or not target.subnormals:
        raise ValueError(f"{target.name}: no stochastic rounding into this format is proven")
    p, q, width, n = target.fraction_bits, source.fraction_bits, source.bits - 1, random_bits
    lowest, e = target.lowest_exponent - p, "signed [11:0]"
    field, zeros = f"m[{width - 1}:{q}]", f"{64 - q - 1 - n}'d0"
    inexact, tiny = int(Flags.INEXACT), int(Flags.INEXACT | Flags.UNDERFLOW)
    # The lines read the magnitude `m`, the sign `negative` and the random bits `added`.
    return [
        f"  wire [{q}:0] bits = {{{field} != 0, m[{q - 1}:0]}};",
        f"  wire [63:0] long = {{{zeros}, bits, {n}'d0}};",
        f"  wire {e} place = $signed({{1'b0, {field} == 0 ? 1 : {field}}}) - {source.bias + q};",
        f"  reg {e} first; integer k;",
        f"  always @* begin first = 0; for (k = 0; k <= {q}; k = k + 1) if (bits[k]) first = k; end",
        f"  wire {e} normal_place = place + first - {p};",
        f"  wire {e} last_place = normal_place < {lowest} ? {lowest} : normal_place;",
        f"  wire [63:0] kept = ((long >> (last_place - place)) + added{' + 1' if broken else ''}) >> {n};",
        f"  wire [63:0] unbounded = ((first < {p} ? long : long >> (first - {p})) + added) >> {n};",
        "  wire inexact = last_place > place && (bits & ~(~64'd0 << (last_place - place))) != 0;",
        f"  wire [11:0] binade = last_place - {lowest};",
        f"  wire [63:0] magnitude = kept + (binade << {p});",
        f"  wire {e} exponent = normal_place + {p} + $signed({{1'b0, unbounded == {2 << p}}});",
        f"  wire below = exponent < {target.min_normal_exponent};",
        f"  wire [{7 + FLAG_BITS}:0] of_number = magnitude > {target.max_code}",
        f"    ? {_signed(target, policy, Exact(Kind.FINITE, False, 4 * target.max_magnitude))}",
        f"    : {{negative, magnitude[6:0], !inexact ? {FLAG_BITS}'d0 : below ? {FLAG_BITS}'d{tiny}"
        f" : {FLAG_BITS}'d{inexact}}};",
        f"  wire [{7 + FLAG_BITS}:0] expected = !(&{field}) ? of_number",
        f"    : m[{q - 1}:0] == 0 ? {_signed(target, policy, Exact(Kind.INF, False))}",
        f"    : {_signed(target, policy, Exact(Kind.NAN, False))};",
    ]


def _signed(target: FixedFormat, policy: CastPolicy, positive: Exact) -> str:
    texts = []
    for sign in (True, False):
        number = Exact(positive.kind, sign, positive.magnitude)
        code, flags = encode(number, target, CastPolicy(None, policy.overflow))
        texts.append(f"{8 + FLAG_BITS}'d{code << FLAG_BITS | int(flags)}")
    return f"(negative ? {texts[0]} : {texts[1]})"
