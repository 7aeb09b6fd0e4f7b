"""Specification of rounding: the exact magnitude of a sum is converted to a code and flags."""

from __future__ import annotations

from fp9.engines import Engine
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Rounding

EXPONENT = "signed [15:0]"

ROUNDS_UP = {
    Rounding.RNE: "guard && (rest || kept[0])",
    Rounding.RNA: "guard",
    Rounding.RTZ: "1'b0",
    Rounding.RUP: "(guard || rest) && !negative",
    Rounding.RDN: "(guard || rest) && negative",
    Rounding.RTO: "(guard || rest) && !kept[0]",
}
"""Verilog conditions under which each rounding mode rounds the magnitude up.

Sources: IEEE 754-2019, 4.3; for rounding to odd, Boldo and Melquiond 2008.
"""


def rounded(engine: Engine, width: int, magnitude: str, place: str, negative: str) -> tuple[str, ...]:
    """Return Verilog that rounds a finite sum to the code `finite`, and detects inexact, tiny and overflowing results.

    The exact sum is the integer `magnitude` times 2^`place`. The result format must have subnormal numbers.
    """
    fmt, policy = engine.result.format, CastPolicy(engine.result.rounding, engine.result.overflow)
    f, up = fmt.fraction_bits, ROUNDS_UP[engine.result.rounding]
    lowest = fmt.lowest_exponent - f
    largest, infinity = fmt.max_code, fmt.inf_code(False)
    ends = [largest if policy.saturates(fmt, side) else infinity for side in (True, False)]
    return (
        f"  wire [{width - 1}:0] magnitude = {magnitude}; wire negative = {negative}; wire {EXPONENT} place = {place};",
        f"  reg {EXPONENT} leading; integer i;",
        f"  always @* begin leading = 0; for (i = 0; i < {width}; i = i + 1) if (magnitude[i]) leading = i; end",
        f"  wire {EXPONENT} normal_place = place + leading - {f};",
        f"  wire {EXPONENT} last_place = normal_place < {lowest} ? {lowest} : normal_place;",
        *_cut_at("normal_place", "normal_", width, fmt.precision, up),
        *_cut_at("last_place", "", width, fmt.precision, up),
        f"  wire [{fmt.bits + 1}:0] code = (upper + ((last_place - ({lowest})) << {f})) << {fmt.padding};",
        "  wire inexact = guard || rest;",
        # The nonzero sum, rounded with unbounded exponent, is below the normal range.
        f"  wire tiny = magnitude != 0 && "
        f"$signed(normal_place + {f} + $signed({{1'b0, normal_upper[{fmt.precision}]}})) < {fmt.min_normal_exponent};",
        f"  wire over = magnitude != 0 && code > {largest};",
        f"  wire [{fmt.bits - 2}:0] ended = magnitude == 0 ? 0 : !over ? code : negative ? {ends[0]} : {ends[1]};",
        f"  wire [{fmt.bits - 1}:0] finite = {{negative && ended != 0, ended}};",
    )


def _cut_at(last: str, name: str, width: int, precision: int, up: str) -> tuple[str, ...]:
    """Return Verilog that divides a magnitude by 2^`last` and rounds the quotient to the integer wire `upper`."""
    wide = width + precision
    names = ("kept", "guard", "rest")
    for word in names:
        up = up.replace(word, name + word)
    unit = f"({width}'d1 << ({name}dropped - 1))"
    return (
        f"  wire {EXPONENT} {name}dropped = {last} - place; wire [{wide - 1}:0] {name}long = magnitude;",
        f"  wire [{wide - 1}:0] {name}moved = {name}dropped < 0 ? {name}long << -{name}dropped"
        f" : {name}long >> {name}dropped;",
        f"  wire [{precision - 1}:0] {name}kept = {name}moved;",
        f"  wire {name}guard = {name}dropped > 0 && |(magnitude & {unit});",
        f"  wire {name}rest = {name}dropped > 1 && |(magnitude & ({unit} - 1));",
        f"  wire [{precision}:0] {name}upper = {name}kept + ({up});",
    )
