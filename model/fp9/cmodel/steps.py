"""Generator of the C function for an accumulation step, R = round(sum of products + c)."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.cmodel.ranges import Weights, joined, weights
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, comment, filled, identifier
from fp9.engines import Addend, Engine, Truncation
from fp9.formats import FixedFormat

# Largest width in bits of an exact sum in a 64-bit integer. `fp9_add` needs the remaining bits.
NARROW = 60

CUTS = {Truncation.ZERO: "FP9_CUT_ZERO", Truncation.FLOOR: "FP9_CUT_FLOOR", Truncation.JAM: "FP9_CUT_JAM"}


@dataclass(frozen=True, slots=True)
class Step:
    """Text of a C function for one accumulation step, and names of the shared C files that the function needs."""

    text: str
    parts: tuple[str, ...]


def step(name: str, engine: Engine, products: Weights, count: int) -> Step:
    """Return the C function `NAME_step`, which adds at most `count` terms to an addend and rounds the sum."""
    words = _words(name, engine) | {"count": count}
    if engine.window.width is None:
        return _fused(engine, products, count, words)
    if engine.window.interleaved is not None:
        return Step(filled(_HEAD + _INTERLEAVED, words), ("sums", "window"))
    body = {Addend.INSIDE: _INSIDE, Addend.ALIGNED: _ALIGNED, Addend.OUTSIDE: _OUTSIDE}[engine.window.addend]
    inside = engine.window.addend is Addend.INSIDE
    words |= {"top": _top(engine, inside), "zeros": _zeros(engine, inside)}
    parts = ("sums", "window") if inside else ("sums", "add", "window")
    return Step(filled(_HEAD + _WINDOW_TOP + body, words), parts)


def _words(name: str, engine: Engine) -> dict[str, object]:
    result, nan = engine.result.format, nan_codes(engine)
    runs = f"fp9_standing_infinities(term, count, {engine.nan.infinity_run})"
    return {
        "name": name,
        "says": comment(f"{engine.name}: a step, rounded to {result.name} ({engine.result.rounding.words})").rstrip(),
        "result": identifier(result),
        "rounding": ROUNDINGS[engine.result.rounding],
        "overflow": OVERFLOWS[engine.result.overflow],
        "nan": nan[0],
        "invalid": nan[1],
        "flush": int(engine.result.flush),
        "addend": f"    c = fp9_flushed(c, {engine.output.min_normal_exponent});\n"
        if engine.result.flush_addend
        else "",
        "runs": f"    seen.infinities = {runs};\n" if engine.nan.infinity_run else "",
        "window": engine.window.width,
        "cut": CUTS[engine.window.truncation],
        "lowest": result.min_normal_exponent,
        "interleaved": engine.window.interleaved,
    }


def nan_codes(engine: Engine) -> tuple[str, str]:
    """Return the NaN codes for NaN operands and for invalid operations, as C literals."""
    own = engine.result.format.nan_code(False) if engine.nan.code is None else engine.nan.code
    assert own is not None, "an engine's result has a NaN"
    return f"0x{own:X}", f"0x{own if engine.nan.invalid_code is None else engine.nan.invalid_code:X}"


def layout(engine: Engine) -> str:
    if not isinstance(engine.result.format, FixedFormat):
        raise ValueError(
            f"engine {engine.name}: result={engine.result.format.name} given; the C functions of exact engines round "
            "to formats of fixed fields: give one, such as fp32"
        )
    return identifier(engine.result.format)


# --- exact sums -----------------------------------------------------------------------------------------------------


def _fused(engine: Engine, products: Weights, count: int, words: dict[str, object]) -> Step:
    runs = ("runs",) if engine.nan.infinity_run else ()
    if count == 1:
        return Step(filled(_HEAD + _TWO + _ROUNDED, words), ("sums", "add", *runs))
    if products.bits(count) <= NARROW:
        words |= {"weight": products.lowest}
        return Step(filled(_HEAD + _NARROW + _ROUNDED, words), ("sums", "add", "align", *runs))
    everything = joined([products, weights([addend_format(engine)])])
    words |= {"weight": everything.lowest, "limbs": everything.limbs(count + 1)}
    return Step(filled(_HEAD + _WIDE + _ROUNDED, words), ("sums", "wide", *runs))


def addend_format(engine: Engine) -> FixedFormat:
    return engine.addend_format


_HEAD = """\
@{says}
FP9_FN uint32_t @{name}_step(const fp9_number *term, int count, fp9_number c, uint32_t *flags)
{
    fp9_layout f = fp9_@{result}();
    fp9_policy p = fp9_policy_of(@{rounding}, @{overflow});
    fp9_seen seen = {0, 0, 0, 0, 0};
    fp9_number sum;
    int i;
@{addend}\
    for (i = 0; i < count; ++i) fp9_see(&seen, term[i]);
@{runs}\
    fp9_see(&seen, c);
    if (fp9_is_special(seen)) return fp9_special_sum(f, seen, @{nan}, @{invalid}, flags);
"""

_TWO = """\
    sum = fp9_add(term[0], c);
"""

_NARROW = """\
    {
        int64_t products = 0; /* in units of 2^@{weight} */
        int dropped = 0;
        for (i = 0; i < count; ++i) {
            if (term[i].significand) products += fp9_align(term[i], @{weight}, FP9_CUT_ZERO, &dropped);
        }
        sum = fp9_add(fp9_integer(products, @{weight}), c);
    }
"""

_WIDE = """\
    {
        uint64_t exact[@{limbs}] = {0}; /* in units of 2^@{weight} */
        for (i = 0; i < count; ++i) {
            if (term[i].significand) fp9_wide_add(exact, @{limbs}, @{weight}, term[i]);
        }
        if (c.significand) fp9_wide_add(exact, @{limbs}, @{weight}, c);
        sum = fp9_wide_number(exact, @{limbs}, @{weight});
    }
"""

_ROUNDED = """\
    if (!sum.significand) sum = fp9_zero_sum(seen, p.rounding);
    return fp9_round_sum(f, sum, p, @{nan}, @{flush}, flags);
}
"""

# --- windows --------------------------------------------------------------------------------------------------------


def _top(engine: Engine, inside: bool) -> str:
    lines = [
        "    for (i = 0; i < count; ++i) {",
        "        if (term[i].kind == FP9_FINITE && term[i].alignment > top) top = term[i].alignment;",
        "    }",
    ]
    if inside:
        lines.append("    if (c.kind == FP9_FINITE && c.alignment > top) top = c.alignment;")
    return "\n".join(lines) + "\n"


def _zeros(engine: Engine, inside: bool) -> str:
    if engine.window.zero_exponent is None:
        return ""
    zero = f"top = {engine.window.zero_exponent}"
    lines = [
        "    for (i = 0; i < count; ++i) {",
        f"        if (term[i].kind == FP9_ZERO && top < {engine.window.zero_exponent}) {zero};",
        "    }",
    ]
    if inside:
        lines.append(f"    if (c.kind == FP9_ZERO && top < {engine.window.zero_exponent}) {zero};")
    return "\n".join(lines) + "\n"


_WINDOW_TOP = """\
    {
    const int none = -100000;
    int top = none, dropped = 0, weight; /* the exponent at which the window begins */
    int64_t aligned = 0;
@{top}@{zeros}\
    weight = top - @{window};
    if (top == none) return fp9_round_aligned(f, c, p, @{nan}, @{flush}, 0, flags);
    for (i = 0; i < count; ++i) aligned += fp9_align(term[i], weight, @{cut}, &dropped);
"""

_INSIDE = """\
    aligned += fp9_align(c, weight, @{cut}, &dropped);
    sum = fp9_integer(aligned, weight);
    return fp9_round_aligned(f, sum, p, @{nan}, @{flush}, dropped, flags);
    }
}
"""

_ALIGNED = """\
    if (c.exponent < weight) c = fp9_integer(fp9_align(c, weight, @{cut}, &dropped), weight);
    sum = fp9_add(fp9_integer(aligned, weight), c);
    return fp9_round_aligned(f, sum, p, @{nan}, @{flush}, dropped, flags);
    }
}
"""

_OUTSIDE = """\
    sum = fp9_add(fp9_integer(aligned, weight), c);
    return fp9_round_aligned(f, sum, p, @{nan}, @{flush}, dropped, flags);
    }
}
"""

_INTERLEAVED = """\
    {
    const int none = -100000;
    int tops[2] = {-100000, -100000}, dropped = 0, top, last, exponent_c, far;
    int64_t halves[2] = {0, 0}, total = 0;
    for (i = 0; i < count; ++i) { /* even and odd products have separate windows */
        if (term[i].kind == FP9_FINITE && term[i].alignment > tops[i & 1]) tops[i & 1] = term[i].alignment;
    }
    for (i = 0; i < count; ++i) {
        if (term[i].significand) halves[i & 1] += fp9_align(term[i], tops[i & 1] - @{window}, FP9_CUT_ZERO, &dropped);
    }
    last = tops[0] > tops[1] ? tops[0] : tops[1];
    exponent_c = c.kind == FP9_FINITE ? c.alignment : @{lowest};
    top = last > exponent_c ? last : exponent_c;
    for (i = 0; i < 2; ++i) { /* add both sums, floored to the window of the larger one */
        if (tops[i] != none) total += fp9_floor(halves[i], last - tops[i], &dropped);
    }
    if (last != none) total = fp9_floor(total, top - (@{interleaved} + 1) - (last - @{window}), &dropped);
    far = exponent_c < top - @{window} - 1; /* c is below the window */
    if (far) {
        dropped |= c.significand != 0;
    } else {
        int64_t kept = fp9_align(c, top - @{window}, FP9_CUT_FLOOR, &dropped);
        total += kept * ((int64_t)1 << (@{interleaved} + 1 - @{window}));
    }
    last = top - (@{interleaved} + 1);
    sum = fp9_integer(total, last);
    if (total) {
        top = last + fp9_bits(sum.significand) - 1;
        if (top < @{lowest}) top = @{lowest};
        sum = fp9_integer(fp9_floor(total, top - @{interleaved} - last, &dropped), top - @{interleaved});
    }
    return fp9_round_aligned(f, sum, p, @{nan}, @{flush}, dropped, flags);
    }
}
"""
