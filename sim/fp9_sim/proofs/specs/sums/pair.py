"""Lemmas that specify the exact sum of two products and an addend.

`fp9_rtl.sums.pair` generates the circuit. Lemmas about integers, without the circuit, show that the circuit's truncated
sum rounds like the exact sum.
"""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Dot
from fp9_rtl.rounding.facts import sum_facts
from fp9_rtl.sums.engine_step import is_pair
from fp9_rtl.sums.pair import HEADROOM, window_bits
from fp9_sim.proofs.cones import ConeLemma
from fp9_sim.proofs.specs.sums.normal import (
    code_term,
    is_nan,
    is_normal,
    is_product,
    normal_products,
    product_term,
    products_of,
    rounded_up,
)
from fp9_sim.proofs.specs.sums.round import EXPONENT

PROVES = (
    "result and flags equal the exact sum of both products and the addend, rounded once to nearest, for all operands "
    "and addends"
)
ASSUMES: tuple[str, ...] = ()


def is_offered(unit: Dot) -> bool:
    return not unit.stages and unit.engine.chunk.length is None and is_pair(unit) and is_normal(unit)


def lemmas(unit: Dot) -> tuple[ConeLemma, ...]:
    return (*normal_products(unit), _aligned(unit), _added(unit), _normalised(unit), _rounded(unit), *_exact(unit))


# --- the window -------------------------------------------------------------------------------------------------------


def _is_nan(unit: Dot) -> str:
    return f"multiply.product0_nan || multiply.product1_nan || {is_nan(unit.engine.result.format, 'c')}"


def _terms(unit: Dot) -> Iterator[str]:
    """Yield Verilog that orders the two products and the addend by exponent."""
    fmt = unit.engine.result.format
    for name in products_of(unit).names:
        yield from product_term(unit, name)
    yield from code_term(fmt, "addend", "c")
    # `low` is the product with the smaller exponent. Of the addend and the other product, `first` has the larger
    # exponent.
    larger, smaller = "product1_place > product0_place", ("product1", "product0")
    fields = {"bits": f"[{fmt.precision - 1}:0] ", "place": f"{EXPONENT} ", "negative": ""}
    for field, kind in fields.items():
        one, other = (f"{name}_{field}" for name in smaller)
        yield f"  wire {kind}high_{field} = {larger} ? {one} : {other};"
        yield f"  wire {kind}low_{field} = {larger} ? {other} : {one};"
    yield "  wire addend_first = addend_place >= high_place;"
    for field, kind in fields.items():
        yield f"  wire {kind}first_{field} = addend_first ? addend_{field} : high_{field};"
        yield f"  wire {kind}second_{field} = addend_first ? high_{field} : addend_{field};"


def _cut(unit: Dot) -> Iterator[str]:
    window, p = window_bits(unit.engine.result.format), unit.engine.result.format.precision
    for name in ("second", "low"):
        yield f"  wire {EXPONENT} {name}_distance = first_place - {name}_place;"
        yield f"  wire [{2 * window}:0] {name}_wide = {{{name}_bits, {2 * window + 1 - p}'d0}};"
        yield f"  wire [{window - 1}:0] {name}_moved = ({name}_wide >> {name}_distance) >> {window + 1};"
        yield f"  wire [{2 * window}:0] {name}_back = ({{{name}_moved, {window + 1}'d0}}) << {name}_distance;"
        yield f"  wire {name}_lost = {name}_back != {name}_wide;"
        yield f"  wire [{window}:0] {name}_kept = {{{name}_moved, {name}_lost}};"
    same = "second_place == low_place && second_bits == low_bits && second_negative != low_negative"
    yield f"  wire both_lost = second_lost && low_lost && !({same});"


_TERMS = ("first", "second", "low")


def _aligned(unit: Dot) -> ConeLemma:
    nan = _is_nan(unit)
    said = {
        "first_significand": "first_bits",
        "first_exponent": "first_place",
        "first_sign": "first_negative",
        "high": "second_kept",
        "low": "low_kept",
        "high_opposite": "(second_negative ^ first_negative)",
        "low_opposite": "(low_negative ^ first_negative)",
        "cut": "(second_lost || low_lost)",
        "both_cut": "both_lost",
    }
    says = {f"align.{name}": f"align.nan || align.{name} == {value}" for name, value in said.items()}
    lost, net = "align.nan || !(second_lost || low_lost)", "align.cut_term"
    signs = "{multiply.product0_sign, multiply.product1_sign, addend_negative}"
    return ConeLemma(
        "the three terms in their window",
        (),
        (*_terms(unit), *_cut(unit)),
        {
            "align.nan": f"align.nan == ({nan})",
            **says,
            f"{net}_significand": f"{lost} || {net}_significand == (low_lost ? low_bits : second_bits)",
            f"{net}_exponent": f"{lost} || {net}_exponent == (low_lost ? low_place : second_place)",
            "align.subtract": f"align.nan || align.subtract == (|{signs} && !(&{signs}))",
        },
        ("second_lost && low_lost && !", "second_lost && !"),
        assumes=tuple(fact for name in products_of(unit).names for fact in is_product(unit, name)),
        gives=_places(unit),
    )


def _places(unit: Dot) -> tuple[str, ...]:
    return tuple(f"align.{name}_exponent <= {_highest(unit)}" for name in ("first", "cut_term"))


def _highest(unit: Dot) -> int:
    fmt = unit.engine.result.format
    return max(sum_facts(unit).products[-1] + fmt.bias, (1 << fmt.exponent_bits) - 1)


# --- sum and rounding -------------------------------------------------------------------------------------------------


def _sum_bits(unit: Dot) -> int:
    return window_bits(unit.engine.result.format) + 1 + HEADROOM


def _sum(unit: Dot, first: str, high: str, low: str, opposite: tuple[str, str]) -> Iterator[str]:
    """Yield Verilog that adds the three terms, with signs relative to the sign of the first term."""
    bits, p = _sum_bits(unit) + 1, unit.engine.result.format.precision
    below = window_bits(unit.engine.result.format) + 1 - p
    for name, value, sign in (("high", high, opposite[0]), ("low", low, opposite[1])):
        yield f"  wire signed [{bits - 1}:0] plus_{name} = {{{bits}'d0, {value}}};"
        yield f"  wire signed [{bits - 1}:0] of_{name} = {sign} ? -plus_{name} : plus_{name};"
    yield f"  wire signed [{bits - 1}:0] total = {{{first}, {below}'d0}} + of_high + of_low;"
    yield f"  wire below_zero = total < 0; wire [{bits - 1}:0] size = below_zero ? -total : total;"
    yield f"  wire gone = size >> {bits - 1 - p - HEADROOM - 2} == 0;"


def _added(unit: Dot) -> ConeLemma:
    below = window_bits(unit.engine.result.format) + 1 - unit.engine.result.format.precision
    lines = _sum(
        unit, "align.first_significand", "align.high", "align.low", ("align.high_opposite", "align.low_opposite")
    )
    return ConeLemma(
        "the sum of the three terms",
        (),
        (*lines, "  wire alone = align.cut && gone;"),
        {
            "add.sum": f"add.sum == (alone ? {{align.cut_term_significand, {below}'d0}} : size | align.both_cut)",
            "add.exponent": "add.exponent == (alone ? align.cut_term_exponent : align.first_exponent)",
            "add.sign": "total == 0 || add.sign == (align.first_sign ^ below_zero)",
        },
        ("-total", "~total"),
        assumes=_places(unit),
        gives=(f"add.exponent <= {_highest(unit)}",),
        at=dict.fromkeys(("align.high", "align.low"), 1) | {"align.first_significand": below + 1},
    )


def _normalised(unit: Dot) -> ConeLemma:
    bits, fmt = _sum_bits(unit), unit.engine.result.format
    kept = fmt.precision + 2
    first = f"moved[{bits - 1}:{bits - kept}]"
    same = f"{{normalise.significand, normalise.guard, normalise.round}} == {first}"
    exponent = "$signed(normalise.o_exponent)"
    return ConeLemma(
        "the sum with its first 1 in the first place",
        (),
        (
            f"  wire {EXPONENT} up = $signed({{1'b0, add.exponent}}) + {HEADROOM} - {exponent};",
            f"  wire [{2 * bits - 1}:0] moved = {{{bits}'d0, add.sum}} << up;",
        ),
        {
            "normalise.o_exponent": f"add.sum == 0 || up >= 0 && up < {bits} && moved >> {bits - 1} == 1",
            "normalise.significand": same,
            "normalise.guard": same,
            "normalise.round": same,
            "normalise.sticky": f"normalise.sticky == (moved[{bits - kept - 1}:0] != 0)",
            "normalise.zero": "normalise.zero == (add.sum == 0)",
        },
        ("add.sum == 0 ||", "add.sum == 1 ||"),
        assumes=(f"add.exponent <= {_highest(unit)}",),
        gives=_of_normal(unit),
    )


def _rounded(unit: Dot) -> ConeLemma:
    return ConeLemma(
        "the rounding, result and flags",
        (),
        (
            f"  wire {EXPONENT} exponent = $signed(normalise.o_exponent); wire nan = align.nan;",
            "  wire exact = !(normalise.guard || normalise.round || normalise.sticky) || normalise.zero;",
            *rounded_up(
                unit.engine.result.format, "normalise.significand", "normalise.guard", "normalise.zero", "add.sign"
            ),
        ),
        {"result": "result == value", "flags": "flags == raised"},
        ("!exact || over", "!exact"),
        assumes=_of_normal(unit),
    )


def _of_normal(unit: Dot) -> tuple[str, ...]:
    bits = "{normalise.significand, normalise.guard, normalise.round, normalise.sticky}"
    normal = f"normalise.significand[{unit.engine.result.format.fraction_bits}]"
    return (f"normalise.zero ? {bits} == 0 : {normal}",)


# --- the exact sum ----------------------------------------------------------------------------------------------------

# The wire `whole` is the exact sum of all three terms. The wire `kept` is the sum in the window, with the same unit.
# The wire `half` has the weight of the window's sticky bit. Rounding reads `kept`, or the only term that remains.


def _exact(unit: Dot) -> Iterator[ConeLemma]:
    """Yield lemmas which state that no rounding boundary lies between the exact sum and the truncated sum."""
    p, far = unit.engine.result.format.precision, _highest(unit)
    half = far - (window_bits(unit.engine.result.format) + 1 - p)
    wide = p + far + HEADROOM
    opposite = ("(second_negative ^ first_negative)", "(low_negative ^ first_negative)")
    lines = [*_terms(unit), *_cut(unit), *_sum(unit, "first_bits", "second_kept", "low_kept", opposite)]
    for name, moved in (("first", "0"), ("second", "second_distance"), ("low", "low_distance")):
        lines.append(f"  wire signed [{wide}:0] whole_{name} = ({{{wide}'d0, {name}_bits}} << {far}) >> {moved};")
    for name, sign in zip(("second", "low"), opposite, strict=True):
        lines.append(f"  wire signed [{wide}:0] signed_{name} = {sign} ? -whole_{name} : whole_{name};")
    lines += [
        f"  wire signed [{wide}:0] whole = whole_first + signed_second + signed_low;",
        f"  wire signed [{wide}:0] kept = {{{{{wide}{{below_zero}}}}, total}} << {half};",
        f"  wire signed [{wide}:0] half = {wide}'d1 << {half};",
        f"  wire signed [{wide}:0] lone = low_lost ? signed_low : signed_second;",
        f"  wire signed [{wide}:0] others = whole_first + (low_lost ? signed_second : signed_low);",
        f"  wire signed [{wide}:0] beside = whole - whole_first;",
        "  wire none = !second_lost && !low_lost; wire one = second_lost != low_lost;",
        f"  wire nan = {_is_nan(unit)};",
    ]
    quarter = f"({wide}'sd1 << {far - 2})"
    facts = {
        "no bits are lost: both sums are the same": ("!none || whole == kept", "whole == kept", "whole == kept + half"),
        "bits of one term are lost: the sums are less than a half apart, and the last place is not one of rounding": (
            "!one || gone || whole - kept < half && kept - whole < half && total[0]",
            "whole - kept < half",
            "whole - kept < (half >>> 8)",
        ),
        "bits of one term are lost, and the others cancel: it is the sum": (
            "!one || !gone || others == 0 && whole == lone && below_zero == (lone < 0) && lone != 0",
            "others == 0",
            "others != 0",
        ),
        "bits of two terms are lost: both sums are less than a quarter of a last place from the first term": (
            f"none || one || first_bits[{p - 1}] && beside < {quarter} && -beside < {quarter} && !gone && !below_zero"
            f" && (whole != whole_first) == both_lost && (both_lost || kept == whole_first)"
            f" && kept - whole_first < {quarter} && whole_first - kept < {quarter}",
            "== both_lost",
            "== (second_lost && low_lost)",
        ),
    }
    for name, (fact, right, wrong) in facts.items():
        yield ConeLemma(
            f"exact sum, {name}",
            (),
            tuple(lines),
            {},
            (right, wrong),
            assumes=tuple(fact for name in products_of(unit).names for fact in is_product(unit, name)),
            gives=(f"nan || {fact}",),
        )
