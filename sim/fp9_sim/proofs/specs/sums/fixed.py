"""Lemmas that specify exact fixed-point sums: products, alignment, sum and rounding.

The circuit aligns all products in one fixed-point word. The circuit aligns the addend in a window, a range of bit
positions that contains all bit positions of the products. `fp9_rtl.sums.fixed.sum` generates the circuit.
"""

from __future__ import annotations

from collections.abc import Iterator

from fp9.formats.rounding import Flags
from fp9.units import Dot
from fp9_rtl.sums.engine_step import is_fixed_point
from fp9_rtl.sums.fixed.places import window_of
from fp9_sim.proofs.cones import ConeLemma
from fp9_sim.proofs.specs.sums.place import Places
from fp9_sim.proofs.specs.sums.round import EXPONENT, ROUNDS_UP, rounded

PROVES = (
    "result and flags equal the exact sum of the products and the addend, rounded once, for all operands and addends; "
    "an addend so far above all products that its distance does not matter counts from the first such place, and what "
    "it has so far below their last place that it is none of rounding is one sticky bit"
)
ASSUMES: tuple[str, ...] = ()


def is_offered(unit: Dot) -> bool:
    engine = unit.engine
    if unit.scale is not None or unit.stages or not is_fixed_point(unit):
        return False
    flags = (engine.result.flush, engine.result.flush_addend, engine.nan.zero_bypass, unit.bias_port, unit.gate_zeros)
    others = (engine.chunk.length, engine.nan.code, engine.nan.invalid_code, engine.nan.infinity_run)
    fmt = engine.result.format
    plain = engine.addend_format == fmt and fmt.subnormals and fmt.inf_code(False) is not None
    fits = unit.products << _places(unit).longest <= 1 << _field(unit) and _rounds_as_exact(unit)
    return plain and fits and engine.result.rounding in ROUNDS_UP and all(x is None for x in others) and not any(flags)


def lemmas(unit: Dot) -> tuple[ConeLemma, ...]:
    return (
        *_places(unit).lemmas(),
        _addend_placed(unit),
        _special(unit),
        _added(unit),
        _normalised(unit),
        _rounded(unit),
    )


def _rounds_as_exact(unit: Dot) -> bool:
    """Return whether the sum of the bits inside the window always rounds like the exact sum.

    The window is the range of bit positions that the circuit adds.
    """
    window, fmt = window_of(unit), unit.engine.result.format
    # The circuit moves an addend above the window down to the highest addend position in the window. If the sum of the
    # products, which is below 2^`window.top`, is at most a quarter of the moved addend's ulp, the sum cannot move the
    # total across a rounding boundary.
    above = not window.far or window.addend_highest - fmt.fraction_bits >= window.top + 2
    # Every product is a multiple of 2^`window.ulp`, and an addend that loses bits below the window is smaller than half
    # of 2^`window.ulp`. A total of lossy addend and nonzero products therefore has a magnitude of at least half of
    # 2^`window.ulp`. The window must contain the guard bit of such a total.
    return above and (not window.cut or window.lowest <= window.ulp - 1 - fmt.precision)


def _places(unit: Dot) -> Places:
    return Places(unit, _field(unit) + 2, _sign(unit), zeros=False)


def _field(unit: Dot) -> int:
    window = window_of(unit)
    return window.top - window.ulp


def _sign(unit: Dot) -> str:
    return f"c[{unit.engine.addend_format.bits - 1}]"


def _addend(unit: Dot) -> Iterator[str]:
    fmt = unit.engine.addend_format
    f, top = fmt.fraction_bits, fmt.bits - 2
    low = fmt.bits - 1 - fmt.exponent_bits
    field, fraction = f"c[{top}:{low}]", f"c[{low - 1}:{fmt.padding}]"
    yield f"  wire [{f}:0] addend_value = {{{field} != 0, {fraction}}};"
    yield f"  wire {EXPONENT} addend_exponent = $signed({{1'b0, {field} == 0 ? 1 : {field}}}) - {fmt.bias};"
    yield f"  wire addend_inf = &{field} && {fraction} == 0; wire addend_nan = &{field} && {fraction} != 0;"


def _window(unit: Dot) -> Iterator[str]:
    """Yield Verilog wires for the addend's position relative to the window."""
    window, f = window_of(unit), unit.engine.addend_format.fraction_bits
    bits = window.addend_highest - window.lowest + 1
    # The wire `far` is 1 for an addend above the window, and `lost` is the sticky bit.
    yield _far(unit)
    yield f"  wire {EXPONENT} lift = (far ? {window.addend_highest} : addend_exponent) - {f} - ({window.lowest});"
    yield f"  wire [{bits + f}:0] wide = addend_value;"
    yield f"  wire [{bits - 1}:0] bits_of_addend = lift < 0 ? wide >> -lift : wide << lift;"
    yield "  wire lost = lift < 0 && ((wide >> -lift) << -lift) != wide;"


def _far(unit: Dot) -> str:
    window = window_of(unit)
    return f"  wire far = {int(window.far)} && addend_exponent > {window.addend_highest};"


def _addend_placed(unit: Dot) -> ConeLemma:
    special = _no_number(unit)
    return ConeLemma(
        "the addend's place",
        (),
        (*_addend(unit), *_window(unit)),
        {
            "place.placed_addend": f"{special} || place.placed_addend == bits_of_addend",
            "place.cut": f"{special} || place.cut == lost",
        },
        ("== bits_of_addend", "== (bits_of_addend | 1)"),
        gives=(_is_addend(unit), _is_far(unit), _IS_CUT.format(top=unit.engine.addend_format.bits - 2)),
    )


def _is_far(unit: Dot) -> str:
    fmt, window = unit.engine.addend_format, window_of(unit)
    above = f"c[{fmt.bits - 2}:{fmt.bits - 1 - fmt.exponent_bits}] > {window.addend_highest + fmt.bias}"
    return f"{_no_number(unit)} || !({above}) || {_leads(unit)}"


def _no_number(unit: Dot) -> str:
    fmt = unit.engine.addend_format
    return f"&c[{fmt.bits - 2}:{fmt.bits - 1 - fmt.exponent_bits}]"


def _leads(unit: Dot) -> str:
    window = window_of(unit)
    return f"place.placed_addend[{window.addend_highest - window.lowest}]"


def _is_addend(unit: Dot) -> str:
    window, f = window_of(unit), unit.engine.addend_format.fraction_bits
    first = window.addend_highest - window.lowest
    low = f"place.cut && place.placed_addend >> {f} == 0"
    ends = f"!place.placed_addend[{first}] || (place.placed_addend << {f + 1}) == 0"
    return f"{_no_number(unit)} || {low} || !place.cut && ({ends})"


def _special(unit: Dot) -> ConeLemma:
    names, places = unit.lane_names("product"), _places(unit)

    def any_of(kind: str) -> str:
        return " || ".join(f"multiply.{name}_{kind}" for name in names)

    lines = [*_addend(unit), f"  wire quiet = {any_of('nan')} || addend_nan;"]
    for name, sign in (("plus", "!"), ("minus", "")):
        infinite = [f"multiply.{p}_inf && {sign}multiply.{p}_sign" for p in names]
        lines.append(f"  wire {name} = {' || '.join(infinite)} || addend_inf && {sign}{_sign(unit)};")
    lines.append(f"  wire invalid = {any_of('invalid')} || plus && minus;")
    differ = " || ".join(places.negative(name) for name in names)
    return ConeLemma(
        "special results",
        (),
        tuple(lines),
        {
            "place.nan": "place.nan == (quiet || invalid)",
            "place.invalid": "place.invalid == (invalid && !quiet)",
            "place.inf": "place.inf == (plus || minus)",
            "place.sign_of_infinity": "quiet || invalid || place.sign_of_infinity == minus",
            "place.subtract": f"place.subtract == ({differ})",
        },
        (" || addend_nan;", ";"),
        gives=(
            _ORDINARY,
            _finite(unit),
            *_ordinary(unit),
        ),
    )


_ORDINARY = "!place.invalid || place.nan"


def _ordinary(unit: Dot) -> tuple[str, ...]:
    names = unit.lane_names("product")
    return tuple(f"{_SPECIAL} || !multiply.{name}_{kind}" for name in names for kind in ("inf", "nan"))


def _added(unit: Dot) -> ConeLemma:
    window, names, places = window_of(unit), unit.lane_names("product"), _places(unit)
    bits, below = window.bits + 2, window.bits_below
    row = places.bits
    cut = "{place.placed_addend, place.cut}" if window.cut else "place.placed_addend"
    lines = [f"  wire signed [{bits - 1}:0] with_addend = {cut};"]
    before = "with_addend"
    for name in names:
        negative = places.negative(name)
        lines += [
            f"  wire [{row - 1}:0] of_{name} = {places.row(name)};",
            f"  wire signed [{bits - 1}:0] shifted_{name} = {{{bits - row}'d0, of_{name}}} << {below};",
            f"  wire signed [{bits - 1}:0] with_{name} = {before} + ({negative} ? -shifted_{name} : shifted_{name});",
        ]
        before = f"with_{name}"
    lines += [
        f"  wire signed [{bits - 1}:0] total = {before}; wire below_zero = total < 0;",
        f"  wire [{bits - 1}:0] magnitude = below_zero ? -total : total;",
    ]
    differ = f"({' || '.join(places.negative(name) for name in names)})"
    rows = {f"place.{name}_placed": window.ulp - window.lowest + 1 for name in names}
    return ConeLemma(
        "the sum of all terms",
        (),
        tuple(lines),
        {
            "add.sum": f"{_SPECIAL} || add.sum == magnitude",
            "add.alone": f"{_SPECIAL} || add.alone == (place.cut && (total >>> {below}) == 0)",
            "add.sign": f"place.nan || (place.inf ? add.sign == place.sign_of_infinity : total == 0 && {differ} "
            f"|| add.sign == (below_zero ^ {_sign(unit)}))",
        },
        ("-total", "~total"),
        assumes=(
            _is_addend(unit),
            _finite(unit),
            *(places.fact(name) for name in names),
            *_ordinary(unit),
        ),
        gives=(_keeps_addend(unit), _CUT),
        at={**rows, "place.placed_addend": 1, "c": 1 << 12},
    )


_SPECIAL = "place.nan || place.inf"
_CUT = "!add.alone || place.cut"
_IS_CUT = "!place.cut || c[{top}:0] != 0"


def _finite(unit: Dot) -> str:
    return f"{_SPECIAL} || !({_no_number(unit)})"


def _keeps_addend(unit: Dot) -> str:
    kept = unit.engine.result.format.precision + 1
    bits = window_of(unit).bits
    return f"{_SPECIAL} || !{_leads(unit)} || add.sum >> {bits - kept} < {(1 << kept) - 1}"


def _normalised(unit: Dot) -> ConeLemma:
    window, fmt = window_of(unit), unit.engine.result.format
    kept = fmt.precision + 2
    width = max(window.bits, kept + 1)
    furthest = min(width - 1, window.highest - fmt.min_normal_exponent)
    hangs = f"(far ? addend_exponent : {window.highest})"
    first = f"(add.alone ? {{addend_value, 2'd0}} : moved[{width - 1}:{width - kept}])"
    same = f"{{normalise.significand, normalise.guard, normalise.round}} == {first}"
    return ConeLemma(
        "the sum with its first 1 in the first place",
        (),
        (
            *_addend(unit),
            _far(unit),
            f"  wire [{width - 1}:0] sum = {{{width}'d0, add.sum}} << {width - window.bits};",
            f"  wire {EXPONENT} up = {hangs} + {fmt.bias} - $signed({{1'b0, normalise.exponent}});",
            f"  wire [{2 * width - 1}:0] moved = {{{width}'d0, sum}} << up;",
            "  wire nothing = !add.alone && sum == 0;",
            f"  wire placed = up >= 0 && up <= {furthest} && moved >> {width} == 0"
            f" && (moved[{width - 1}] || up == {furthest});",
        ),
        {
            "normalise.exponent": f"nothing || (add.alone ? up == {hangs} - addend_exponent : placed)",
            "normalise.significand": same,
            "normalise.guard": same,
            "normalise.round": same,
            "normalise.sticky": f"normalise.sticky == (!add.alone && moved[{width - kept - 1}:0] != 0)",
            "normalise.zero": "normalise.zero == nothing",
        },
        (" && sum == 0;", " && sum <= 1;"),
        assumes=_fits_result(unit),
        gives=_of_normal(unit),
    )


def _of_normal(unit: Dot) -> tuple[str, ...]:
    window, fmt = window_of(unit), unit.engine.result.format
    normal = f"normalise.significand[{fmt.fraction_bits}]"
    bits = "{normalise.significand, normalise.guard, normalise.round, normalise.sticky}"
    facts = [
        f"normalise.zero == ({bits} == 0)",
        f"normalise.zero || (normalise.exponent == 1 || normalise.exponent > 1 && {normal})",
    ]
    if window.lowest >= fmt.lowest_exponent - fmt.fraction_bits:
        facts.append(f"{normal} || !(normalise.guard || normalise.round || normalise.sticky)")
    if window.far:
        highest, first = fmt.highest_exponent + fmt.bias, "&normalise.significand && normalise.guard"
        above = f"normalise.exponent > {highest} || normalise.exponent == {highest} && {first}"
        facts.append(f"{_SPECIAL} || normalise.zero || !({above})")
    return tuple(facts)


def _fits_result(unit: Dot) -> tuple[str, ...]:
    cut = (_CUT, _IS_CUT.format(top=unit.engine.addend_format.bits - 2)) if window_of(unit).cut else ()
    return (*cut, *((_is_far(unit), _keeps_addend(unit), _finite(unit)) if window_of(unit).far else ()))


def _rounded(unit: Dot) -> ConeLemma:
    engine, fmt = unit.engine, unit.engine.result.format
    minus = int(engine.result.rounding.cancels_to_minus)
    bits = "{normalise.significand, normalise.guard, normalise.round, normalise.sticky}"
    last = f"$signed({{1'b0, normalise.exponent}}) - {fmt.bias + fmt.fraction_bits + 3}"
    return ConeLemma(
        "the rounding, result and flags",
        (),
        (
            *rounded(engine, fmt.precision + 3, bits, last, "add.sign"),
            "  wire under = tiny && !over && inexact;",
            f"  wire sign = magnitude == 0 && place.subtract ? {minus} : add.sign;",
            f"  wire [{fmt.bits - 1}:0] value = place.nan ? {fmt.nan_code(False)}",
            f"    : place.inf ? {{add.sign, {fmt.bits - 1}'d{fmt.inf_code(False)}}} : {{sign, ended}};",
            "  wire [4:0] common = {1'b0, 1'b0, over, under, inexact || over};",
            f"  wire [4:0] raised = place.nan ? (place.invalid ? {int(Flags.INVALID)} : 0) : place.inf ? 0 : common;",
        ),
        {"result": "result == value", "flags": "flags == raised"},
        ("inexact || over}", "over}"),
        assumes=(_ORDINARY, *_of_normal(unit)),
    )
