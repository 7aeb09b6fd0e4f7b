"""Specification of an FPU, by lemmas for FMA and by single-purpose units for all other operations.

For an FMA, the circuit's second product is zero. The specification's sum is as wide as the circuit's sum of two
products, so that ABC finds equal internal nets.
"""

from __future__ import annotations

from collections.abc import Iterator

import fp9_rtl
from fp9.formats import FixedFormat
from fp9.formats.rounding import Overflow
from fp9.units import Cast, Dot, Fpu, FpuOp, Unit, Upcast
from fp9_sim.netlists.solvers.alike import alike
from fp9_sim.netlists.solvers.solver import Obligation
from fp9_sim.proofs.cones import ConeLemma, oblige_cone
from fp9_sim.proofs.miter import Case, miter
from fp9_sim.proofs.parts import PartCase, part_cases
from fp9_sim.proofs.specs.sums.normal import code_term, is_nan, rounded_up, sum_of_two
from fp9_sim.proofs.specs.sums.round import EXPONENT

PROVES = (
    "result and flags, for all operands: with FMMA those of the dot of the same formats and engine, with UPCAST and "
    "DOWNCAST those of the casts; with FMA the exact sum of the product of the 16-bit operands and the addend, rounded "
    "once"
)
ASSUMES = ("the values of that dot and of those casts are claims of their own",)

_PRODUCT = "multiply.product0"
_ALONE = "!multiply.product1_nan && multiply.product1_zero && multiply.product1_significand == 0"


def is_offered(unit: Fpu) -> bool:
    return not unit.stages and unit.flags


def cases(unit: Fpu) -> tuple[Case, ...]:
    return (*_like_others(unit), *part_cases(lemmas(unit), {"op": int(FpuOp.FMA)}))


def oblige_fpu(unit: Fpu, verilog: str, case: Case, specification: str) -> Obligation:
    if isinstance(case, PartCase):
        return oblige_cone(unit, lemmas(unit), verilog, case, specification)
    others = "".join(fp9_rtl.verilog(other) for other, _ in _others(unit).values())
    return alike(verilog + others, miter(unit, case, specification))


# --- operations of other units ----------------------------------------------------------------------------------------


def _others(unit: Fpu) -> dict[FpuOp, tuple[Unit, dict[str, str]]]:
    """Return a dictionary that maps each FPU operation except FMA to a single-purpose unit and its port connections.

    The port connections map each input port of the single-purpose unit to bits of the FPU's inputs.
    """
    wide, rounding = unit.engine.result.format, unit.engine.result.rounding
    halves = {f"{side}{lane}": f"{side}[{8 * lane + 7}:{8 * lane}]" for side in "ab" for lane in range(2)}
    selects = {
        f"{side}_format": f"{side}_format"
        for side, formats in zip("ab", (unit.a, unit.b), strict=True)
        if len(formats) > 1
    }
    chosen = "a_format" if len(unit.a) > 1 else None
    dot = Dot(f"{unit.name}_dot", unit.a, unit.b, unit.engine)
    others: dict[FpuOp, tuple[Unit, dict[str, str]]] = {FpuOp.FMMA: (dot, halves | selects | {"c": "c"})}
    if unit.casts:
        up = Upcast(f"{unit.name}_upcast", unit.a, wide)
        down = Cast(f"{unit.name}_downcast", wide, unit.a, (rounding,), (Overflow.SATURATE,))
        others[FpuOp.UPCAST] = up, {"code": "a[7:0]"} | ({"code_format": chosen} if chosen else {})
        others[FpuOp.DOWNCAST] = down, {"x": "c"} | ({"target": chosen} if chosen else {})
    return others


def _like_others(unit: Fpu) -> Iterator[Case]:
    for op, (other, pins) in _others(unit).items():
        texts = (_same(unit, other, pins, broken) for broken in (False, True))
        yield Case(f"{op.name}: as the {other.kind}", {"op": int(op)}, *texts)


def _same(unit: Fpu, other: Unit, pins: dict[str, str], broken: bool) -> str:
    names = [port.name for port in unit.outputs]
    last = next(name for name in reversed(pins) if name in ("c", "code", "x"))
    read = pins | ({last: f"{pins[last]} ^ 1'b1"} if broken else {})
    joined = ", ".join([*(f".{name}({net})" for name, net in read.items()), *(f".{n}(other_{n})" for n in names)])
    return "\n".join(
        [
            *(f"  wire [{port.width - 1}:0] other_{port.name};" for port in other.outputs),
            f"  {other.name} other ({joined});",
            f"  assign ok = {' && '.join(f'{name} == other_{name}' for name in names)};",
        ]
    )


# --- the multiply-add -------------------------------------------------------------------------------------------------


def lemmas(unit: Fpu) -> tuple[ConeLemma, ...]:
    return (_multiplied(unit), _added(unit))


def _multiplied(unit: Fpu) -> ConeLemma:
    fmt = unit.engine.result.format
    bits = 2 * fmt.precision
    special = f"{_PRODUCT}_nan || {_PRODUCT}_zero"
    return ConeLemma(
        "the product of a multiply-add, and its addend",
        (),
        (
            *code_term(fmt, "a", "a"),
            *code_term(fmt, "b", "b"),
            f"  wire [{bits - 1}:0] exact = a_bits * b_bits;",
            f"  wire {EXPONENT} up = a_place + b_place + {1 - fmt.bias} - $signed({_PRODUCT}_exponent);",
        ),
        {
            f"{_PRODUCT}_nan": f"{_PRODUCT}_nan == ({is_nan(fmt, 'a')} || {is_nan(fmt, 'b')})",
            f"{_PRODUCT}_zero": f"{_PRODUCT}_zero == (a_zero || b_zero)",
            f"{_PRODUCT}_sign": f"{_PRODUCT}_sign == (a_negative ^ b_negative)",
            f"{_PRODUCT}_significand": f"{special} || {_PRODUCT}_significand == exact << up",
            f"{_PRODUCT}_exponent": f"{special} || up == 0 || up == 1",
            "multiply.product1_nan": "!multiply.product1_nan",
            "multiply.product1_zero": "multiply.product1_zero",
            "multiply.product1_significand": "multiply.product1_significand == 0",
            "decode.o_c": "decode.o_c == c",
        },
        ("== exact << up", "== exact"),
        gives=(_is_product(fmt), _ALONE),
        at={"a": 1, "b": 1},
    )


def _is_product(fmt: FixedFormat) -> str:
    significand = f"{_PRODUCT}_significand"
    number = f"$signed({_PRODUCT}_exponent)"
    within = f"{number} >= {-fmt.bias} && {number} <= {2 * (1 << fmt.exponent_bits) - 1 - fmt.bias}"
    first = f"{significand}[{2 * fmt.precision - 1}]"
    return f"{_PRODUCT}_nan || ({_PRODUCT}_zero ? {significand} == 0 : {first} && {within})"


def _added(unit: Fpu) -> ConeLemma:
    fmt = unit.engine.result.format
    bits = 2 * fmt.precision
    return ConeLemma(
        "the sum of a multiply-add and its rounding, result and flags",
        (),
        (
            f"  wire [{bits - 1}:0] product_bits = {_PRODUCT}_zero ? 0 : {_PRODUCT}_significand;",
            f"  wire {EXPONENT} product_place = $signed({_PRODUCT}_exponent);",
            f"  wire product_negative = {_PRODUCT}_sign;",
            *code_term(fmt, "short", "decode.o_c"),
            f"  wire [{bits - 1}:0] addend_bits = {{short_bits, {bits - fmt.precision}'d0}};",
            f"  wire {EXPONENT} addend_place = short_place; wire addend_negative = short_negative;",
            *sum_of_two(fmt, "product", "addend", bits),
            f"  wire nan = {_PRODUCT}_nan || {is_nan(fmt, 'decode.o_c')}; wire exact = !(guard || rest);",
            *rounded_up(fmt, "significand", "guard", "zero", "negative"),
        ),
        {"result": "result == value", "flags": "flags == raised"},
        ("!(guard || rest)", "!guard"),
        assumes=(_is_product(fmt), _ALONE),
    )
