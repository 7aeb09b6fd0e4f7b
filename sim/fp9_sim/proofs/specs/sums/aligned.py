"""Lemmas that specify dot products whose terms are all aligned to the largest product.

The circuit truncates the products and the addend at a fixed number of bits below the largest product's exponent. If all
products are zero, the addend is not truncated. `fp9_rtl.sums.window.separate_addend` generates the circuit.
"""

from __future__ import annotations

from fp9.engines import Addend, Truncation
from fp9.units import Dot
from fp9_rtl.sums.adder import EXTRA_BITS
from fp9_sim.proofs.cones import ConeLemma, cone
from fp9_sim.proofs.specs.sums.normal import code_term, is_nan, is_normal, products_of, rounded_up, sum_of_two
from fp9_sim.proofs.specs.sums.round import EXPONENT

PROVES = (
    "result and flags equal the sum in the window of the engine's record: exact products, they and the addend cut "
    "below the largest product's exponent, their exact sum, one rounding; for all operands and addends"
)
ASSUMES: tuple[str, ...] = ()

_PRODUCTS, _SUM, _TOP = "align_products", "normalise_products.product", "align_products.exponent"


def is_offered(unit: Dot) -> bool:
    engine = unit.engine
    if (
        engine.window.width is None
        or engine.window.addend is not Addend.ALIGNED
        or engine.window.truncation is not Truncation.ZERO
    ):
        return False
    plain = engine.step.products > 1 and engine.window.zero_exponent is None and engine.chunk.length is None
    if not plain or unit.stages or _sum_bits(unit) < engine.result.format.precision + EXTRA_BITS:
        return False
    return is_normal(unit)


def lemmas(unit: Dot) -> tuple[ConeLemma, ...]:
    return (*map(cone, products_of(unit).lemmas()), _aligned(unit), _added(unit), _cut(unit), _rounded(unit))


def _window(unit: Dot) -> int:
    assert unit.engine.window.width is not None
    return 2 + unit.engine.window.width


def _highest(unit: Dot) -> str:
    return f"{_PRODUCTS}.nan || {_TOP} <= {products_of(unit).exponents[-1]}"


def _aligned(unit: Dot) -> ConeLemma:
    of, bits = products_of(unit), _window(unit)
    lines, largest = [], "0"
    for name in of.names:
        net = f"multiply.{name}"
        lines.append(f"  wire {EXPONENT} rank_of_{name} = {net}_zero ? 0 : {of.number(f'{net}_exponent')};")
        lines.append(f"  wire {EXPONENT} with_{name} = rank_of_{name} > {largest} ? rank_of_{name} : {largest};")
        largest = f"with_{name}"
    for name in of.names:
        lines += [
            f"  wire [{bits + of.bits - 1}:0] whole_{name} = {{{of.significand(name)}, {bits}'d0}};",
            f"  wire {EXPONENT} distance_of_{name} = {largest} - rank_of_{name};",
            f"  wire [{bits - 1}:0] kept_{name} = (whole_{name} >> distance_of_{name}) >> {of.bits};",
            f"  wire [{bits + of.bits - 1}:0] back_{name} = {{kept_{name}, {of.bits}'d0}} << distance_of_{name};",
        ]
    lost = " || ".join(f"back_{name} != whole_{name}" for name in of.names)
    nan = " || ".join(f"multiply.{name}_nan" for name in of.names)
    return ConeLemma(
        "the products in their window",
        (),
        (*lines, f"  wire none = {nan};"),
        {
            f"{_PRODUCTS}.nan": f"{_PRODUCTS}.nan == none",
            _TOP: f"none || {_TOP} == {largest}",
            **{f"{_PRODUCTS}.{name}": f"none || {_PRODUCTS}.{name} == kept_{name}" for name in of.names},
            f"{_PRODUCTS}.dropped": f"none || {_PRODUCTS}.dropped == ({lost})",
        },
        (f"back_{of.names[0]} != whole_{of.names[0]}", "1'b0"),
        assumes=tuple(fact for name in of.names for fact in of.facts(name)),
        gives=(_highest(unit),),
    )


def _sum_bits(unit: Dot) -> int:
    return _window(unit) + unit.products.bit_length()


def _added(unit: Dot) -> ConeLemma:
    bits, names = _sum_bits(unit), unit.lane_names("product")
    lines, before = [], f"{bits + 1}'d0"
    for name in names:
        wide = f"{{{bits + 1 - _window(unit)}'d0, {_PRODUCTS}.{name}}}"
        lines.append(f"  wire signed [{bits}:0] with_{name} = {before} + (multiply.{name}_sign ? -{wide} : {wide});")
        before = f"with_{name}"
    net = f"{_SUM}_significand"
    return ConeLemma(
        "the products' sum with its first 1 in the first place",
        (),
        (
            *lines,
            f"  wire below_zero = {before} < 0; wire [{bits}:0] size = below_zero ? -{before} : {before};",
            f"  wire {EXPONENT} up = $signed({{1'b0, {_TOP}}}) + {bits - _window(unit)} - $signed({_SUM}_exponent);",
            f"  wire [{2 * bits}:0] moved = {{{bits}'d0, size}} << up;",
        ),
        {
            net: f"{_PRODUCTS}.nan || {net} == moved",
            f"{_SUM}_exponent": f"{_PRODUCTS}.nan || size == 0 || up >= 0 && up < {bits} && {net}[{bits - 1}]",
            "add_products.sign": "size == 0 || add_products.sign == below_zero",
        },
        ("? -with_", "? ~with_"),
        assumes=(_highest(unit),),
        gives=(_is_sum(unit),),
    )


def _exponents(unit: Dot) -> range:
    highest = products_of(unit).exponents[-1] + (unit.products - 1).bit_length()
    return range(-_sum_bits(unit), highest + 1)


def _is_sum(unit: Dot) -> str:
    within, number, net = _exponents(unit), f"$signed({_SUM}_exponent)", f"{_SUM}_significand"
    exponent = f"{number} >= {within[0]} && {number} <= {within[-1]}"
    return f"{_PRODUCTS}.nan || {net} == 0 || {net}[{_sum_bits(unit) - 1}] && {exponent}"


def _is_addend(unit: Dot) -> str:
    f = unit.engine.addend_format.fraction_bits
    own = f"(cut.c_significand[{f - 1}:0] & ~c[{f - 1}:0]) == 0"
    return f"cut.c_nan || cut.c_significand == 0 || cut.c_significand[{f}] && {own}"


def _is_code(unit: Dot) -> str:
    return f"cut.c_nan == {is_nan(unit.engine.addend_format, 'c')}"


def _cut(unit: Dot) -> ConeLemma:
    fmt = unit.engine.addend_format
    assert unit.engine.window.width is not None
    return ConeLemma(
        "the addend, cut where the products are",
        (),
        (
            *code_term(fmt, "addend", "c"),
            f"  wire {EXPONENT} last = $signed({{1'b0, {_TOP}}}) - {1 + unit.engine.window.width};",
            f"  wire {EXPONENT} below = last - (addend_place - {fmt.fraction_bits});",
            f"  wire [{fmt.precision - 1}:0] kept = {_TOP} == 0 || below <= 0 ? addend_bits",
            "    : (addend_bits >> below) << below;",
        ),
        {
            "cut.c_nan": _is_code(unit),
            "cut.c_significand": "cut.c_nan || cut.c_significand == kept",
            "cut.c_sign": "cut.c_nan || cut.c_sign == addend_negative",
            "cut.o_dropped": f"cut.c_nan || cut.o_dropped == ({_PRODUCTS}.dropped || kept != addend_bits)",
        },
        ("below <= 0", "below <= 1"),
        gives=(_is_addend(unit), _is_code(unit)),
    )


def _rounded(unit: Dot) -> ConeLemma:
    fmt = unit.engine.result.format
    bits = max(_sum_bits(unit), fmt.precision)
    sum_net = f"{_SUM}_significand"
    exponent = f"c[{fmt.bits - 2}:{fmt.fraction_bits}]"
    return ConeLemma(
        "the sum and its rounding, result and flags",
        (),
        (
            f"  wire [{bits - 1}:0] products_bits = {{{bits}'d0, {sum_net}}} << {bits - _sum_bits(unit)};",
            f"  wire {EXPONENT} products_place = $signed({_SUM}_exponent);",
            "  wire products_negative = add_products.sign; wire addend_negative = cut.c_sign;",
            f"  wire [{bits - 1}:0] addend_bits = {{{bits}'d0, cut.c_significand}} << {bits - fmt.precision};",
            f"  wire {EXPONENT} addend_place = {{1'b0, {exponent}}};",
            *sum_of_two(fmt, "products", "addend", bits),
            f"  wire nan = {_PRODUCTS}.nan || cut.c_nan; wire exact = !(guard || rest || cut.o_dropped);",
            *rounded_up(fmt, "significand", "guard", "zero", "negative"),
        ),
        {"result": "result == value", "flags": "flags == raised"},
        ("guard || rest || cut.o_dropped", "guard || rest"),
        assumes=(_is_sum(unit), _is_addend(unit), _is_code(unit)),
    )
