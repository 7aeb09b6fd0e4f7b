"""Verilog that specifies the sum of two normalised numbers, from the decoding of the terms to the rounded result.

The formats have no subnormal numbers, and have one code for NaN and infinity (DLFloat).
"""

from __future__ import annotations

from collections.abc import Iterator

from fp9.formats import FixedFormat
from fp9.formats.rounding import Rounding
from fp9.units import Dot
from fp9_rtl.rounding.facts import sum_facts
from fp9_sim.proofs.cones import ConeLemma, cone
from fp9_sim.proofs.specs.sums.product import Products
from fp9_sim.proofs.specs.sums.round import EXPONENT


def is_normal(unit: Dot) -> bool:
    """Return whether the lemmas for formats without subnormal numbers apply to a unit."""
    engine = unit.engine
    fmt = engine.result.format
    merged = all(f.flushes and f.nan_is_inf for f in (fmt, *unit.a, *unit.b))
    plain = engine.ends_plainly and engine.result.rounding is Rounding.RNA and not fmt.padding
    others = engine.nan.zero_bypass or unit.bias_port or unit.gate_zeros or unit.scale is not None
    if others or not (merged and plain and fmt.precision > products_of(unit).bits):
        return False
    return sum_facts(unit).products.start >= fmt.min_normal_exponent


# --- terms ------------------------------------------------------------------------------------------------------------


def products_of(unit: Dot) -> Products:
    return Products(unit, unit.engine.result.format.bias)


def normal_products(unit: Dot) -> Iterator[ConeLemma]:
    """For each product, yield a lemma which states that the product is exact and normalised."""
    of = products_of(unit)
    lanes = zip(*(unit.lane_names(name) for name in ("a", "b", "product")), of.lemmas(), strict=True)
    for a, b, product, lemma in lanes:
        net = f"multiply.{product}"
        number = f"{a}_nan || {b}_nan || {a}_zero || {b}_zero"
        says = {
            f"{net}_significand": f"{a}_nan || {b}_nan || {{{of.bits}'d0, {net}_significand}} == exact << up",
            f"{net}_exponent": f"{number} || up >= 0 && up <= {of.bits}",
        }
        yield cone(
            lemma,
            says={said: says.get(said, text) for said, text in lemma.says.items()},
            lines=(*lemma.lines, f"  wire {EXPONENT} up = rank - $signed({{1'b0, {net}_exponent}});"),
            gives=is_product(unit, product),
        )


def is_product(unit: Dot, product: str) -> tuple[str, ...]:
    net, of = f"multiply.{product}", products_of(unit)
    exponents = [exponent + of.bias for exponent in sum_facts(unit).products]
    within = f"{net}_exponent >= {exponents[0]} && {net}_exponent <= {exponents[-1]}"
    zero = f"{net}_nan || {net}_significand == 0"
    return (f"{net}_zero ? {zero} : {net}_significand[{of.bits - 1}] && {within}",)


def product_term(unit: Dot, product: str) -> Iterator[str]:
    of, p = products_of(unit), unit.engine.result.format.precision
    net = f"multiply.{product}"
    yield f"  wire [{p - 1}:0] {product}_bits = {net}_zero ? 0 : {{{net}_significand, {p - of.bits}'d0}};"
    yield f"  wire {EXPONENT} {product}_place = {net}_zero ? 0 : {{1'b0, {net}_exponent}};"
    yield f"  wire {product}_negative = {net}_sign;"


def code_term(fmt: FixedFormat, name: str, code: str) -> Iterator[str]:
    p, f, top = fmt.precision, fmt.fraction_bits, fmt.bits - 2
    yield f"  wire {name}_zero = {code}[{top}:0] == 0; wire {name}_negative = {code}[{top + 1}] && !{name}_zero;"
    yield f"  wire [{p - 1}:0] {name}_bits = {name}_zero ? 0 : {{1'b1, {code}[{f - 1}:0]}};"
    yield f"  wire {EXPONENT} {name}_place = {{1'b0, {code}[{top}:{f}]}};"


def is_nan(fmt: FixedFormat, code: str) -> str:
    return f"&{code}[{fmt.bits - 2}:0]"


# --- sum and rounding -------------------------------------------------------------------------------------------------


def sum_of_two(fmt: FixedFormat, one: str, other: str, bits: int) -> Iterator[str]:
    """Yield Verilog for the exact sum of two terms with significands of `bits` bits.

    `bits` must be at least the precision of the result format.
    """
    p, far = fmt.precision, bits + 3
    width = bits + far + 1
    yield f"  wire other_leads = {one}_bits == 0 || {other}_bits != 0 && {other}_place > {one}_place;"
    yield f"  wire {EXPONENT} lead = other_leads ? {other}_place : {one}_place;"
    for name in (one, other):
        # A term far below the other term is moved up to a distance at which the rounded sum is still the same.
        yield f"  wire {EXPONENT} below_{name} = lead - {name}_place;"
        yield f"  wire [{width - 1}:0] whole_{name} = {{1'b0, {name}_bits, {far}'d0}}"
        yield f"    >> (below_{name} > {far} ? {far} : below_{name});"
    yield f"  wire opposite = {one}_negative != {other}_negative; wire larger = whole_{one} >= whole_{other};"
    yield f"  wire [{width - 1}:0] whole = !opposite ? whole_{one} + whole_{other}"
    yield f"    : larger ? whole_{one} - whole_{other} : whole_{other} - whole_{one};"
    yield f"  wire negative = opposite && !larger ? {other}_negative : {one}_negative; wire zero = whole == 0;"
    yield f"  reg {EXPONENT} leading; integer i;"
    yield f"  always @* begin leading = 0; for (i = 0; i < {width}; i = i + 1) if (whole[i]) leading = i; end"
    yield f"  wire {EXPONENT} exponent = lead + leading - {width - 2};"
    yield f"  wire [{width - 1}:0] moved = whole << ({width - 1} - leading);"
    yield f"  wire [{p - 1}:0] significand = moved[{width - 1}:{width - p}]; wire guard = moved[{width - p - 1}];"
    yield f"  wire rest = moved[{width - p - 2}:0] != 0;"


def rounded_up(fmt: FixedFormat, significand: str, guard: str, zero: str, negative: str) -> Iterator[str]:
    """Yield Verilog that rounds a number to nearest, ties away."""
    f = fmt.fraction_bits
    yield f"  wire signed [31:0] code = (exponent <<< {f}) + $signed({{1'b0, {significand}}}) - {1 << f}"
    yield f"    + $signed({{1'b0, {guard}}});"
    yield f"  wire over = !{zero} && code > {fmt.max_code}; wire under = !{zero} && code <= 0;"
    # `ended` is the code without its sign, `value` is the code, and `raised` holds the flags.
    yield f"  wire [{fmt.bits - 2}:0] ended = {zero} || under ? 0 : code;"
    yield f"  wire [{fmt.bits - 1}:0] value = nan || over ? {fmt.nan_code(False)}"
    yield f"    : {{{negative} && ended != 0, ended}};"
    yield "  wire [4:0] raised = nan ? 0 : {1'b0, 1'b0, over, under, !exact || over || under};"
