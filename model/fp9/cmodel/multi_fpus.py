"""C model of the multi-format floating-point unit (`MultiFpu`).

The C code adds all terms of an operation exactly, in 64-bit words, and rounds the sum once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from fp9.cmodel.model_text import ModelText
from fp9.cmodel.operands import c_type, reader, signed
from fp9.cmodel.ranges import joined, weights
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, chosen, filled, identifier, listed
from fp9.formats import FixedFormat, Format, HiFloat8, Specials
from fp9.formats.rounding import Rounding
from fp9.units import SCALE_BITS, FpuGroup, MultiFpu
from fp9.units.multi_fpu import DOTS, EXTREMA, NARROW_BITS, ROUNDED, SIGN_INJECTIONS


def multi_fpu(unit: MultiFpu) -> ModelText:
    words = {
        "name": unit.name,
        "operations": listed([f"{unit.name}_{op.value}" for op in unit.operations], 4),
        "flags": "    out->flags = (uint8_t)flags;\n" if unit.flags else "",
        "tag": "    out->result_tag = in->tag;\n" if unit.tag else "",
        "type": c_type(unit.word),
        "word": unit.word,
        "width": chosen("in->vector", map(str, (unit.word, *unit.lane_widths))),
    }
    functions = [
        filled("enum {\n    @{operations}\n};\n\n", words),
        reader(f"{unit.name}_number", unit.formats, False),
        _formats(unit),
        _sum(unit),
        _operation(unit),
    ]
    return ModelText(unit.formats, ("sums", "wide", "fpu"), "".join(functions), filled(_BODY, words))


def _formats(unit: MultiFpu) -> str:
    rounded = any(op in ROUNDED for op in unit.operations)
    fixed = "" if unit.wide_overflow else filled(_WIDE, {"narrow": NARROW_BITS})
    fixed += "" if all(fmt.has_nan for fmt in unit.formats) else _FINITE
    tiny = _TINY if unit.tiny_before_rounding else ""
    words = {
        "name": unit.name,
        "facts": _by_format([f"fp9_facts f = {_facts(fmt)}; return f;" for fmt in unit.formats], True),
        "encodes": _by_format([f"return fp9_{identifier(fmt)}_encode(x, p, flags);" for fmt in unit.formats]),
        "unboxed": filled(_UNBOXED, {"word": _ones(unit)}) if unit.nan_boxing else "    (void)boxed;\n",
        "unused": "    (void)format;\n" if len(unit.formats) == 1 else "",
        "narrow": NARROW_BITS,
        "fixed": fixed,
        "tiny": tiny,
        "round_facts": filled(_ROUND_FACTS, {"name": unit.name}) if fixed or tiny else "",
    }
    return filled(_FORMATS, words) + (filled(_ROUND, words) if rounded else "")


def _ones(unit: MultiFpu) -> str:
    return f"0x{(1 << unit.word) - 1:X}"


def _facts(fmt: Format) -> str:
    nan = fmt.nan_code(False) or 0
    signals = isinstance(fmt, FixedFormat) and fmt.specials is Specials.IEEE
    quiet = 1 << fmt.fraction_bits - 1 if isinstance(fmt, FixedFormat) and signals else 0
    signed_nan = int(fmt.nan_code(True) != nan)
    return f"{{{fmt.bits}, {fmt.min_normal_exponent}, {int(fmt.signed_zero)}, {signed_nan}, 0x{nan:X}, 0x{quiet:X}}}"


def _by_format(statements: Sequence[str], braces: bool = False) -> str:
    *before, last = [f"{{ {text} }}" if braces else text for text in statements]
    tests = [f"    if (format == {number}) {text}\n" for number, text in enumerate(before)]
    return "".join(tests) + f"    {last.removeprefix('{ ').removesuffix(' }')}\n"


def _sums(unit: MultiFpu) -> bool:
    return not {FpuGroup.ADDMUL, FpuGroup.DOT}.isdisjoint(unit.groups)


def _terms(unit: MultiFpu) -> int:
    return max(2, unit.dot_products + 1)


def _sum(unit: MultiFpu) -> str:
    numbers = weights(unit.formats)
    every = joined([numbers, numbers + numbers])
    words = {"name": unit.name, "weight": every.lowest, "limbs": every.limbs(_terms(unit))}
    return filled(_SUM, words) if _sums(unit) else ""


def _selected(unit: MultiFpu, ports: Container[str]) -> Iterator[str]:
    counts: list[tuple[str, str, Callable[[MultiFpu], int]]] = [("op", "op", lambda lane: len(lane.operations))]
    for name in (*unit.operands, "result"):
        counts.append((f"{name}_format", unit.format_port(name), lambda lane: len(lane.formats)))
    if unit.integers:
        counts.append(("integer", "integer_format", lambda lane: len(lane.integers)))
    for variable, port, count in counts:
        in_lanes = (f"width == {width} ? {count(lane) - 1} : " for width, lane in unit.lane_units.items())
        last = "".join(in_lanes) + f"{count(unit) - 1}"
        yield f"    int {variable} = {f'fp9_at_most(in->{port}, {last})' if port in ports else '0'};"


def _random(unit: MultiFpu) -> str:
    words = [f"in->{name}" for name in unit.random_ports]
    drawn = "".join(f"low == {low} ? {word} : " for word, (low, _) in zip(words, unit.lane_places[:-1], strict=False))
    return f"    p.random = {drawn}{words[-1]};\n    p.random_bits = {unit.random_bits};\n" if words else ""


def _threshold(unit: MultiFpu) -> str:
    if Rounding.HYBRID not in unit.roundings:
        return ""
    lines = ["    if (p.rounding == FP9_HYBRID) {", "        p.rounding = FP9_RNA;"]
    for fmt in unit.hybrid_sources:
        taken, ones = HiFloat8.threshold_bits(fmt)
        number = unit.formats.index(fmt)
        lines += [
            f"        if (op == {unit.name}_convert && a_format == {number}) {{",
            "            p.rounding = FP9_HYBRID;",
            f"            p.random = (a.code & 0x{(1 << taken) - 1:X}) << {ones} | 0x{(1 << ones) - 1:X};",
            f"            p.random_bits = {taken + ones};",
            "        }",
        ]
    return "\n".join([*lines, "    }", ""])


def _operation(unit: MultiFpu) -> str:
    keeping = [f"op == {unit.name}_{op.value}" for op in unit.operations if op in (*SIGN_INJECTIONS, *EXTREMA)]
    rounded = any(op in ROUNDED for op in unit.operations)
    ports = {port.name for port in unit.inputs}
    overflows = [OVERFLOWS[p] for p in unit.overflow[: None if "overflow" in ports else 1]]
    policy = {
        "rounding": chosen("in->rounding", [ROUNDINGS[mode] for mode in unit.roundings]),
        "overflow": chosen("in->overflow", overflows),
    }
    words: dict[str, object] = {
        "name": unit.name,
        "narrow": NARROW_BITS,
        "loads": "\n".join(_selected(unit, ports)),
        "choices": filled(_POLICY, policy) + _random(unit) if rounded else "",
        "threshold": _threshold(unit),
        "keeps": f"    int keeps = {' || '.join(keeping)};\n" if keeping else "",
        "same_format": "    if (keeps) c_format = result_format = a_format;\n" if keeping else "",
        "locals": (_NUMBER if rounded else "") + (filled(_TERMS, {"terms": _terms(unit)}) if _sums(unit) else ""),
        "names": ", ".join(unit.operands),
        "operands": "\n".join(
            f"    {x} = {unit.name}_operand((uint32_t)in->{x} >> low, {x}_format, 1);" for x in unit.operands
        ),
        "scale": f"        x.exponent += {signed('in->scale', SCALE_BITS)};\n" if unit.scale else "",
        "last_narrow": len(unit.narrow) - 1,
        "bits": f"({chosen('integer', [str(each.bits) for each in unit.integers] or ['0'])})",
        "signed": f"({chosen('integer', [str(int(each.signed)) for each in unit.integers] or ['0'])})",
        "summed": f"    if (count) x = {unit.name}_sum(term, count, p.rounding);\n" if _sums(unit) else "",
        "dots": "".join(f"    case {unit.name}_{op.value}:\n" for op in unit.operations if op in DOTS),
        "products": f"(op == {unit.name}_dot2 ? 2 : {unit.dot_products})",
    }
    words["boxes"] = filled(_BOXES, words | {"word": _ones(unit)}) if unit.nan_boxing else ""
    cases = "".join(_CASES[group] for group in FpuGroup if group in unit.groups)
    tail = _ROUNDED if rounded else "    return 0;\n"
    return filled(filled(_OPERATION, words | {"cases": cases, "tail": tail}), words)


_FORMATS = """\
FP9_FN fp9_facts @{name}_format(int format)
{
@{unused}@{facts}}

/* The operand in the low bits of a word. */
FP9_FN fp9_operand @{name}_operand(uint32_t word, int format, int boxed)
{
    fp9_facts f = @{name}_format(format);
    uint32_t mask = (uint32_t)0xFFFFFFFF >> (32 - f.bits), code = word & mask;
@{unboxed}    return fp9_operand_of(f, @{name}_number(code, format, 0), code);
}

"""

_UNBOXED = "    if (boxed && (word | mask) != @{word}) code = f.nan; /* NaN boxing: all bits above a code are 1 */\n"

_ROUND = """\
FP9_FN uint32_t @{name}_encode(fp9_number x, int format, fp9_policy p, uint32_t *flags)
{
@{unused}@{encodes}}

/* The number in a format, rounded once. */
FP9_FN uint32_t @{name}_round(fp9_number x, int format, fp9_policy p, uint32_t *flags)
{
@{round_facts}    uint32_t code;
@{fixed}    p.nan_sign = FP9_SIGN_LOST;
    code = @{name}_encode(x, format, p, flags);
@{tiny}    return code;
}

"""

_ROUND_FACTS = """\
    fp9_facts f = @{name}_format(format);
"""

_WIDE = """\
    if (f.bits > @{narrow}) p.overflow = FP9_DIRECTED;
"""

_FINITE = """\
    if (!f.nan) { /* a format without NaN */
        p.overflow = FP9_SATURATE;
        p.nan_to_zero = 1;
    }
"""

_TINY = """\
    if ((*flags & FP9_INEXACT) && x.exponent + fp9_bits(x.significand) <= f.lowest) *flags |= FP9_UNDERFLOW;
"""

_SUM = """\
/* The exact sum. The last bit is sticky. */
FP9_FN fp9_number @{name}_sum(const fp9_number *term, int count, int rounding)
{
    uint64_t exact[@{limbs}] = {0}; /* in units of 2^@{weight} */
    fp9_seen seen = {0, 0, 0, 0, 0};
    fp9_number sum;
    int i;
    for (i = 0; i < count; ++i) {
        fp9_see(&seen, term[i]);
        if (term[i].significand) fp9_wide_add(exact, @{limbs}, @{weight}, term[i]);
    }
    if (seen.undefined || (seen.infinities == 3 && !seen.nan)) return fp9_of_kind(FP9_UNDEFINED, 0);
    if (seen.nan || seen.infinities) return fp9_of_kind(seen.nan ? FP9_NAN : FP9_INF, seen.infinities == 2);
    sum = fp9_wide_number(exact, @{limbs}, @{weight});
    return sum.kind == FP9_ZERO ? fp9_zero_sum(seen, rounding) : sum;
}

"""

_OPERATION = """\
/* An operation on codes of `width` bits, the lowest of which is bit `low` of the word. */
FP9_FN uint32_t @{name}_operation(const @{name}_in *in, int low, int width, uint32_t *flags)
{
@{loads}
@{choices}@{keeps}@{locals}    fp9_operand @{names};
@{same_format}@{operands}
@{threshold}    *flags = 0;
    (void)width;
    switch (op) {
@{cases}    }
@{tail}}

"""

_POLICY = """\
    fp9_policy p = fp9_policy_of(@{rounding},
        @{overflow});
"""

_NUMBER = """\
    fp9_number x = {FP9_ZERO, 0, 0, 0, 0};
    int signaling = 0, by_zero = 0;
    uint32_t code;
"""

_TERMS = """\
    fp9_number term[@{terms}];
    int count = 0;
"""

_ROUNDED = """\
@{summed}    if (x.kind == FP9_UNDEFINED) signaling = 1;
    if (x.kind == FP9_UNDEFINED) x.kind = FP9_NAN;
    code = @{name}_round(x, result_format, p, flags);
    if (by_zero) *flags = FP9_DIVIDE_BY_ZERO;
    if (signaling) *flags = FP9_INVALID;
    return code@{boxes};
"""

_BOXES = " | (@{word} & ~((uint32_t)0xFFFFFFFF >> (32 - @{name}_format(result_format).bits)))"

# C cases of each operation group. A case returns a code, leaves terms to be summed, or leaves a number to be rounded.
_CASES = {
    FpuGroup.ADDMUL: """\
    case @{name}_fmadd: case @{name}_fmsub: case @{name}_fnmsub: case @{name}_fnmadd:
        term[0] = fp9_with_sign(fp9_product(a.number, b.number), op == @{name}_fnmsub || op == @{name}_fnmadd);
        term[1] = fp9_with_sign(c.number, op == @{name}_fmsub || op == @{name}_fnmadd);
        count = 2;
        signaling = a.signaling | b.signaling | c.signaling;
        break;
    case @{name}_add: case @{name}_sub:
        term[0] = a.number;
        term[1] = fp9_with_sign(c.number, op == @{name}_sub);
        count = 2;
        signaling = a.signaling | c.signaling;
        break;
    case @{name}_mul:
        x = fp9_product(a.number, b.number);
        signaling = a.signaling | b.signaling;
        break;
""",
    FpuGroup.CONV: """\
    case @{name}_convert:
        x = a.number;
@{scale}        signaling = a.signaling;
        break;
""",
    FpuGroup.NONCOMP: """\
    case @{name}_sgnj: return fp9_signed_as(a, c.code)@{boxes};
    case @{name}_sgnjn: return fp9_signed_as(a, ~c.code)@{boxes};
    case @{name}_sgnjx: return fp9_signed_as(a, a.code ^ c.code)@{boxes};
    case @{name}_min: return fp9_extremum(a, c, 0, flags)@{boxes};
    case @{name}_max: return fp9_extremum(a, c, 1, flags)@{boxes};
    case @{name}_eq: return fp9_compared(a, c, 0, 1, 0, flags);
    case @{name}_lt: return fp9_compared(a, c, 1, 0, 1, flags);
    case @{name}_le: return fp9_compared(a, c, 1, 1, 1, flags);
    case @{name}_eq_signaling: return fp9_compared(a, c, 0, 1, 1, flags);
    case @{name}_lt_quiet: return fp9_compared(a, c, 1, 0, 0, flags);
    case @{name}_le_quiet: return fp9_compared(a, c, 1, 1, 0, flags);
    case @{name}_classify: return fp9_classified(a);
""",
    FpuGroup.INTCONV: """\
    case @{name}_to_integer: return fp9_to_integer(a.number, @{bits}, @{signed}, p, flags);
    case @{name}_from_integer: x = fp9_from_integer(in->a >> low, @{bits}, @{signed}); break;
""",
    FpuGroup.DIVSQRT: """\
    case @{name}_div:
        x = fp9_divided(a.number, b.number);
        by_zero = b.number.kind == FP9_ZERO && a.number.kind == FP9_FINITE;
        signaling = a.signaling | b.signaling;
        break;
    case @{name}_sqrt:
        x = fp9_root(a.number);
        signaling = a.signaling;
        break;
""",
    FpuGroup.DOT: """\
@{dots}        signaling = c.signaling;
        for (; count < @{products}; ++count) {
            a = @{name}_operand((uint32_t)in->a >> (@{narrow} * count), fp9_at_most(a_format, @{last_narrow}), 0);
            b = @{name}_operand((uint32_t)in->b >> (@{narrow} * count), fp9_at_most(b_format, @{last_narrow}), 0);
            signaling |= a.signaling | b.signaling;
            term[count] = fp9_product(a.number, b.number);
        }
        term[count++] = c.number;
        break;
""",
}

_BODY = """\
    uint32_t flags = 0, code = 0, raised;
    int low, width = @{width};
    for (low = 0; low < @{word}; low += width) {
        code |= (@{name}_operation(in, low, width, &raised) & ((uint32_t)0xFFFFFFFF >> (32 - width))) << low;
        flags |= raised;
    }
    out->result = (@{type})code;
@{flags}@{tag}"""
