"""Lemmas that specify a Kulisch accumulator: products, fixed-point register and rounding.

By induction over operations, the register holds the exact sum of all products since the last LOAD or CLEAR, modulo the
register's range.
"""

from __future__ import annotations

from fp9.formats.rounding import Flags
from fp9.units import Dot, MacOp, product_range
from fp9_sim.proofs.cones import HELD, NEXT, ConeLemma
from fp9_sim.proofs.specs.sums.place import Places
from fp9_sim.proofs.specs.sums.round import ROUNDS_UP

PROVES = (
    "after every operation the register holds the exact sum of the products since the last LOAD or CLEAR, modulo its "
    "length, and beside it whether NaN, infinities of either sign or an invalid product were among them: that of the "
    "operation is added to, or replaces, what the register held, for all operands and registers; result and flags "
    "equal what it holds, rounded once"
)
ASSUMES = (
    "pipeline registers are read as wires, and that of the sum takes every operation once, in the order in which they "
    "enter: tested, not proven",
)

_STAGES = 4
"""Largest number of pipeline stages without a register inside the product steps."""


def is_offered(unit: Dot) -> bool:
    engine = unit.engine
    if not unit.has_state or not engine.step.exact or unit.scale is not None or unit.bias_port or unit.gate_zeros:
        return False
    if unit.stages > _STAGES:
        return False
    ulp = product_range(unit.a, unit.b).ulp
    fmt = engine.result.format
    plain = fmt.subnormals and fmt.inf_code(False) is not None and engine.result.rounding in ROUNDS_UP
    normal = fmt.min_normal_exponent <= ulp and ulp + unit.sum_bits <= fmt.highest_exponent
    others = (engine.chunk.length, engine.nan.code, engine.nan.invalid_code, engine.nan.infinity_run)
    return plain and normal and all(x is None for x in others) and not (engine.result.flush or engine.nan.zero_bypass)


def lemmas(unit: Dot) -> tuple[ConeLemma, ...]:
    return (*_places(unit).lemmas(), _step(unit), _rounded(unit))


_KINDS = ("nan", "invalid", "positive_infinity", "negative_infinity", "not_zero")


def _places(unit: Dot) -> Places:
    bits = product_range(unit.a, unit.b).signed_bits(unit.engine.step.products)
    return Places(unit, bits, "1'b0", zeros=True)


def _special(unit: Dot, register: str) -> str:
    return f"{register}[{unit.sum_bits + 3}:{unit.sum_bits}] != 0"


def _step(unit: Dot) -> ConeLemma:
    places, bits, names = _places(unit), unit.sum_bits, unit.lane_names("product")
    adds, loads = (f"op == {int(op)}" for op in (MacOp.ACCUMULATE, MacOp.LOAD))
    lines = [f"  wire [{bits - 1}:0] before = {adds} ? {HELD}[{bits - 1}:0] : 0;"]
    before = "before"
    for name in names:
        wide = f"{{{bits - places.bits}'d0, {places.row(name)}}}"
        lines.append(f"  wire [{bits - 1}:0] plus_{name} = {wide};")
        lines.append(
            f"  wire [{bits - 1}:0] with_{name} = {before} + ({places.negative(name)} ? -plus_{name} : plus_{name});"
        )
        before = f"with_{name}"
    found = {
        "nan": " || ".join(f"multiply.{p}_nan" for p in names),
        "invalid": " || ".join(f"multiply.{p}_invalid" for p in names),
        "positive_infinity": " || ".join(f"multiply.{p}_inf && !multiply.{p}_sign" for p in names),
        "negative_infinity": " || ".join(f"multiply.{p}_inf && multiply.{p}_sign" for p in names),
        "not_zero": " || ".join(f"multiply.{p}_sign || !multiply.{p}_zero" for p in names),
    }
    for place, kind in enumerate(_KINDS, start=bits):
        lines.append(f"  wire {kind} = {adds} && {HELD}[{place}] || {found[kind]};")
    kinds = ", ".join(reversed(_KINDS))
    lines.append(f"  wire [{bits + 4}:0] after = {{{kinds}, {before}}};")
    kept = f"op == {int(MacOp.HOLD)} ? {HELD} : {bits + 5}'d0"
    lines.append(f"  wire [{bits + 4}:0] expected = {adds} || {loads} ? after : {kept};")
    above = f"{bits + 4}:{bits}"
    return ConeLemma(
        "the register after an operation",
        (),
        tuple(lines),
        {
            NEXT: f"{NEXT}[{above}] == expected[{above}] "
            f"&& (({adds} || {loads}) && ({_special(unit, NEXT)}) || {NEXT} == expected)"
        },
        (f"-plus_{names[0]}", f"~plus_{names[0]}"),
        assumes=tuple(places.fact(name) for name in names),
        at={**{f"place.{name}_placed": 1 for name in names}, HELD: 1},
    )


def _rounded(unit: Dot) -> ConeLemma:
    engine, fmt, bits = unit.engine, unit.engine.result.format, unit.sum_bits
    f, step_up = fmt.fraction_bits, ROUNDS_UP[engine.result.rounding]
    ulp = product_range(unit.a, unit.b).ulp
    kinds = [f"  wire {kind} = {HELD}[{place}];" for place, kind in enumerate(_KINDS, start=bits)]
    minus = int(engine.result.rounding.cancels_to_minus)
    return ConeLemma(
        "the rounding of the register, result and flags",
        (),
        (
            *kinds,
            f"  wire below_zero = {HELD}[{bits - 1}];",
            f"  wire [{bits - 1}:0] size = below_zero ? -{HELD}[{bits - 1}:0] : {HELD}[{bits - 1}:0];",
            "  reg [15:0] up; integer i;",
            f"  always @* begin up = 0; for (i = 0; i < {bits}; i = i + 1) if (size[i]) up = {bits - 1} - i; end",
            f"  wire [{bits - 1}:0] moved = size << up; wire negative = below_zero;",
            f"  wire [{f}:0] kept = moved[{bits - 1}:{bits - 1 - f}]; wire guard = moved[{bits - 2 - f}];",
            f"  wire rest = moved[{bits - 3 - f}:0] != 0; wire inexact = guard || rest;",
            f"  wire [{fmt.bits - 2}:0] exponent = {ulp + bits - 1 + fmt.bias} - up;",
            f"  wire [{fmt.bits - 2}:0] rounded = (exponent << {f}) + kept[{f - 1}:0] + ({step_up});",
            f"  wire [{fmt.bits - 2}:0] ended = size == 0 ? 0 : rounded;",
            "  wire both = positive_infinity && negative_infinity; wire none = nan || invalid || both;",
            f"  wire sign = size == 0 && not_zero ? {minus} : below_zero;",
            "  wire infinite = positive_infinity || negative_infinity;",
            f"  wire [{fmt.bits - 1}:0] value = none ? {fmt.nan_code(False)}",
            f"    : infinite ? {{negative_infinity, {fmt.bits - 1}'d{fmt.inf_code(False)}}} : {{sign, ended}};",
            f"  wire [4:0] raised = none ? (nan ? 0 : {int(Flags.INVALID)}) : infinite ? 0 : inexact;",
        ),
        {"result": "result == value", "flags": "flags == raised"},
        ("guard && (rest || kept[0])", "guard"),
    )
