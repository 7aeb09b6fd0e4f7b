"""Lemmas that specify dot products with an addition window of limited width.

The addition window starts at the largest exponent of all nonzero terms. Each term is truncated to the window.
"""

from __future__ import annotations

from collections.abc import Iterator

from fp9.engines import Addend, Truncation
from fp9.formats.rounding import Flags
from fp9.units import Dot, MacOp
from fp9_rtl.sums.adder import EXTRA_BITS
from fp9_rtl.sums.engine_step import has_integers
from fp9_sim.netlists.graphs.between import ENTER, LEAVE
from fp9_sim.netlists.graphs.function import ACCUMULATOR
from fp9_sim.proofs.parts import Lemma
from fp9_sim.proofs.specs.sums.product import Products
from fp9_sim.proofs.specs.sums.round import EXPONENT, ROUNDS_UP, rounded
from fp9_sim.proofs.specs.sums.tree import tree_lemmas

PROVES = (
    "result and flags equal the sum in the window of the engine's record: exact products, each term cut below the "
    "largest exponent, their plain sum, one rounding; for all operands and addends"
)
_ALIGN, _ADD, _ROUND = ("align",), ("add",), ("normalise", "round")
_NONE = -(1 << 14)
_LOWEST_ADDEND = 2
_MOST_BY_DIAGRAMS = 9
"""Largest number of terms for which a decision diagram of the sum takes less than two minutes."""
_NO_NUMBER = "!align.invalid || align.nan"


def is_offered(unit: Dot) -> bool:
    engine = unit.engine
    plain = (
        engine.window.width is not None
        and engine.window.addend is Addend.INSIDE
        and engine.window.truncation is Truncation.ZERO
    )
    others = (
        unit.scale,
        engine.window.interleaved,
        engine.step.group,
        engine.chunk.length,
        engine.nan.code,
        engine.nan.invalid_code,
    )
    flags = (engine.result.flush, engine.result.flush_addend, engine.nan.zero_bypass, unit.bias_port, unit.gate_zeros)
    kinds = engine.result.format.subnormals and engine.result.format.inf_code(False) is not None
    # With one more stage, a pipeline register would lie within the product steps.
    whole = unit.stages <= 2 if unit.has_state else not unit.stages
    known = engine.result.rounding in ROUNDS_UP and not has_integers(unit)
    filled = engine.window.width is None or _sum_bits(unit) >= engine.result.format.precision + EXTRA_BITS
    return plain and kinds and known and filled and whole and all(other is None for other in others) and not any(flags)


def lemmas(unit: Dot) -> tuple[Lemma, ...]:
    return (*entering(unit), *_products(unit).lemmas(), *_aligned(unit), *_added(unit), _rounded(unit))


def passed(unit: Dot) -> dict[str, str]:
    signs = {f"align.{name}_sign": f"multiply.{name}_sign" for name in unit.lane_names("product")}
    return {**signs, "align.addend_sign": f"{_addend(unit)}[{unit.engine.addend_format.bits - 1}]"}


def _products(unit: Dot) -> Products:
    return Products(unit, unit.engine.result.format.bias)


def _addend(unit: Dot) -> str:
    return f"{ENTER}.c" if unit.has_state else "c"


def entering(unit: Dot) -> Iterator[Lemma]:
    """Yield the lemma about the addend of an accumulator: port `c` for LOAD, the accumulator for ACCUMULATE."""
    if unit.has_state:
        loads, net = f"op == {int(MacOp.LOAD)}", _addend(unit)
        says = f"!({loads} || op == {int(MacOp.ACCUMULATE)}) || {net} == ({loads} ? c : {ACCUMULATOR})"
        yield Lemma("the addend of an operation", (ENTER,), (), {net: says}, (f": {ACCUMULATOR}", ": c"))


# --- the window -------------------------------------------------------------------------------------------------------


def _aligned(unit: Dot) -> Iterator[Lemma]:
    of = _products(unit)
    terms = (*of.names, "addend")
    facts = tuple(fact for product in of.names for fact in of.facts(product))
    lines = tuple(_terms(unit))
    yield Lemma(
        "special results, the window's exponent",
        _ALIGN,
        (*lines, *_largest(unit, terms)),
        {
            "align.nan": "align.nan == (quiet || invalid)",
            "align.invalid": "align.invalid == (invalid && !quiet)",
            "align.inf": "align.inf == (plus || minus)",
            "align.sign_of_infinity": "quiet || invalid || align.sign_of_infinity == minus",
            "align.exponent": f"special || nothing || {_products(unit).number('align.exponent')} == largest",
            **{f"align.{term}_sign": f"align.{term}_sign == {term}_sign" for term in terms},
        },
        (" || addend_nan;", ";"),
        assumes=facts,
        gives=(_NO_NUMBER, _hangs(unit, _nothing_kept(unit))),
    )
    for term in terms:
        kept = f"special || align.{term} == kept"
        yield Lemma(
            f"{term}: what the window keeps",
            _ALIGN,
            (*lines, *_cut(unit, term, "")),
            {f"align.{term}": kept},
            ("== kept", "== (kept | (lost && kept != 0))"),
            assumes=facts,
            gives=(_of_term(unit, term),),
        )
    lost = " || ".join(f"{term}_lost" for term in terms)
    yield Lemma(
        "whether bits were dropped",
        _ALIGN,
        (*lines, *(line for term in terms for line in _cut(unit, term, f"{term}_"))),
        {"align.dropped": f"special || align.dropped == ({lost})"},
        (lost, lost.replace("addend_lost", "(addend_lost && addend_kept != 0)")),
        assumes=facts,
    )


_SPECIAL = "align.nan || align.inf"


def _is_below(unit: Dot) -> str:
    return f"{_products(unit).number('align.exponent')} < {_products(unit).exponents[-1] + _window_bits(unit)}"


def _hangs(unit: Dot, nothing: str) -> str:
    without = max(_products(unit).exponents.start, _zero(unit))
    lowest = min(without, _LOWEST_ADDEND)
    return f"{_SPECIAL} || {nothing} || {_products(unit).number('align.exponent')} >= {lowest}"


def _nothing_kept(unit: Dot) -> str:
    return " && ".join(f"align.{term} == 0" for term in (*unit.lane_names("product"), "addend"))


def _of_term(unit: Dot, term: str) -> str:
    if term == "addend":
        return f"{_SPECIAL} || !align.addend[{_window_bits(unit) - 1}]"
    return f"{_SPECIAL} || {_is_below(unit)} || align.{term} == 0"


def _of_sum(unit: Dot) -> str:
    return f"{_SPECIAL} || {_is_below(unit)} || add.sum >> {_window_bits(unit) - 1} == 0"


def _terms(unit: Dot) -> Iterator[str]:
    fmt, of = unit.engine.addend_format, _products(unit)
    f, top, exponent = fmt.fraction_bits, fmt.bits - 2, fmt.bits - 1 - fmt.exponent_bits
    for name in of.names:
        net = f"multiply.{name}"
        yield f"  wire [{of.bits - 1}:0] {name}_value = {of.significand(name)}; wire {name}_sign = {net}_sign;"
        yield f"  wire {EXPONENT} rank_of_{name} = {of.number(f'{net}_exponent')}; wire {name}_zero = {net}_zero;"
    c = _addend(unit)
    field, fraction = f"{c}[{top}:{exponent}]", f"{c}[{exponent - 1}:{fmt.padding}]"
    yield f"  wire [{f}:0] addend_value = {{{field} != 0, {fraction}}}; wire addend_sign = {c}[{fmt.bits - 1}];"
    yield f"  wire {EXPONENT} rank_of_addend = {{1'b0, {field} == 0 ? 1 : {field}}} + 1;"
    yield f"  wire addend_zero = addend_value == 0; wire addend_special = &{field};"
    yield f"  wire addend_inf = addend_special && {fraction} == 0; wire addend_nan = addend_special && {fraction} != 0;"
    yield f"  wire quiet = {_any(unit, 'nan')} || addend_nan;"
    for name, sign in (("plus", "!"), ("minus", "")):
        infinite = [f"multiply.{p}_inf && {sign}multiply.{p}_sign" for p in unit.lane_names("product")]
        yield f"  wire {name} = {' || '.join(infinite)} || addend_inf && {sign}addend_sign;"
    yield f"  wire invalid = {_any(unit, 'invalid')} || plus && minus;"
    yield "  wire special = quiet || invalid || plus || minus;"


def _any(unit: Dot, kind: str) -> str:
    return " || ".join(f"multiply.{product}_{kind}" for product in unit.lane_names("product"))


def _largest(unit: Dot, terms: tuple[str, ...]) -> Iterator[str]:
    yield f"  wire nothing = {' && '.join(f'{term}_zero' for term in terms)};"
    before = f"{_NONE}"
    for place, term in enumerate(reversed(terms)):
        rank = f"({term}_zero ? {_zero(unit)} : rank_of_{term})"
        yield f"  wire {EXPONENT} largest_{place} = $signed({rank}) > $signed({before}) ? {rank} : {before};"
        before = f"largest_{place}"
    yield f"  wire {EXPONENT} largest = {before};"


def _zero(unit: Dot) -> int:
    zero = unit.engine.window.zero_exponent
    return _NONE if zero is None else zero + unit.engine.result.format.bias + 1


def _cut(unit: Dot, term: str, name: str) -> Iterator[str]:
    bits = _window_bits(unit)
    # A product has one bit above the weight of its exponent. The addend has no such bit.
    value = f"{{1'b0, {term}_value}}" if term == "addend" else f"{term}_value"
    wide = max(bits, unit.engine.addend_format.precision + 1, _products(unit).bits)
    above = wide - (unit.engine.addend_format.precision + 1 if term == "addend" else _products(unit).bits)
    below = wide - bits
    yield f"  wire [{wide - 1}:0] {name}whole = {value} << {above};"
    yield f"  wire {EXPONENT} {name}distance = {_products(unit).number('align.exponent')} - rank_of_{term};"
    yield f"  wire [{wide - 1}:0] {name}moved = {term}_zero ? 0 : {name}whole >> {name}distance;"
    yield f"  wire [{bits - 1}:0] {name}kept = {name}moved >> {below};"
    yield f"  wire [{wide - 1}:0] {name}back = ({name}kept << {below}) << {name}distance;"
    yield f"  wire {name}lost = !{term}_zero && {name}back != {name}whole;"


def _window_bits(unit: Dot) -> int:
    assert unit.engine.window.width is not None
    return 2 + unit.engine.window.width


# --- sum and rounding -------------------------------------------------------------------------------------------------


def _sum_bits(unit: Dot) -> int:
    return _window_bits(unit) + unit.products.bit_length()


def _fits(unit: Dot) -> str:
    return f"add.sum >> {_sum_bits(unit)} == 0"


def _added(unit: Dot) -> Iterator[Lemma]:
    terms = (*unit.lane_names("product"), "addend")
    window = _window_bits(unit)
    if len(terms) > _MOST_BY_DIAGRAMS:
        signs = {f"align.{term}": f"align.{term}_sign" for term in terms}
        yield from tree_lemmas(_ADD, signs, _sum_bits(unit), "align.inf", "align.sign_of_infinity")
    else:
        yield _added_plainly(unit, terms)
    yield Lemma(
        "the sum high above all products, and of nothing",
        _ADD,
        (),
        {},
        (f">> {window - 1}", f">> {window - 2}"),
        assumes=(_hangs(unit, _nothing_kept(unit)), *(_of_term(unit, term) for term in terms)),
        gives=(_of_sum(unit), _hangs(unit, "add.sum == 0")),
    )


def _added_plainly(unit: Dot, terms: tuple[str, ...]) -> Lemma:
    # Decision diagrams decide this lemma.
    bits, window = _sum_bits(unit) + 2, _window_bits(unit)
    lines, before = [], f"{bits}'d0"
    for term in terms:
        wide = f"{{{bits - window}'d0, align.{term}}}"
        lines.append(f"  wire signed [{bits - 1}:0] with_{term} = {before} + (align.{term}_sign ? -{wide} : {wide});")
        before = f"with_{term}"
    lines.append(f"  wire signed [{bits - 1}:0] magnitude = add.sum;")
    return Lemma(
        "the sum of all terms",
        _ADD,
        tuple(lines),
        {
            "add.sum": f"align.inf || (add.sign ? -magnitude : magnitude) == {before}",
            "add.sign": "!align.inf || add.sign == align.sign_of_infinity",
        },
        ("-magnitude", "~magnitude"),
        gives=(_fits(unit),),
        adds={f"align.{term}": f"align.{term}_sign" for term in terms},
    )


def _rounded(unit: Dot) -> Lemma:
    engine = unit.engine
    fmt = engine.result.format
    width, place = _sum_bits(unit), fmt.bias + _window_bits(unit) - 1
    number = _products(unit).number("align.exponent")
    raised = "{1'b0, 1'b0, over, under, inexact || align.dropped || over}"
    stateful = unit.has_state
    return Lemma(
        "the rounding, result and flags",
        (*_ROUND, LEAVE) if stateful else _ROUND,
        (
            *rounded(engine, width, "add.sum", f"{number} - {place}", "add.sign"),
            "  wire under = tiny && !over && (inexact || align.dropped);",
            f"  wire [{fmt.bits - 1}:0] value = align.nan ? {fmt.nan_code(False)}",
            f"    : align.inf ? {{add.sign, {fmt.bits - 1}'d{fmt.inf_code(False)}}} : finite;",
            f"  wire [4:0] raised = align.nan ? (align.invalid ? {int(Flags.INVALID)} : 0) : align.inf ? 0 : {raised};",
        ),
        after(fmt.bits) if stateful else {"result": "result == value", "flags": "flags == raised"},
        ("inexact || align.dropped || over", "inexact || over"),
        assumes=(_NO_NUMBER, _fits(unit), _of_sum(unit), _hangs(unit, "add.sum == 0")),
    )


def after(bits: int) -> dict[str, str]:
    """Return Verilog conditions on the ports `result` and `flags` after an accumulator operation."""
    adds = f"op == {int(MacOp.ACCUMULATE)} || op == {int(MacOp.LOAD)}"
    kept = f"op == {int(MacOp.HOLD)} ? {ACCUMULATOR} : {bits}'d0"
    return {"result": f"result == ({adds} ? value : {kept})", "flags": f"flags == ({adds} ? raised : 0)"}
