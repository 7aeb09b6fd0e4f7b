"""Generator of C headers that convert and classify codes, and compute dot products."""

from __future__ import annotations

from collections.abc import Sequence

from fp9.cmodel.dot_products import engine_text
from fp9.cmodel.formats import is_tapered
from fp9.cmodel.headers import closing, opening, shared
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, filled, identifier
from fp9.engines import Engine, check_exponents
from fp9.formats import Format, fixed_format
from fp9.formats.rounding import Overflow, Rounding

_FP32 = fixed_format("fp32")


def library_header(formats: Sequence[Format], engines: Sequence[Engine] = (), name: str = "formats") -> str:
    """Return the text of `fp9_NAME.h`, a C header for formats and accumulator models (engines).

    The dot products accept operands in the given formats. Raises ValueError if `formats` is empty, or if an accumulator
    model has unsupported parameters.
    """
    if not formats:
        raise ValueError("no formats given; give those of the operands, such as e4m3")
    made = [engine_text(engine, operand_formats(formats), scale_formats(formats)) for engine in engines]
    parts = {"order", "flush", *(part for text in made for part in text.parts)}
    parts |= {"hif8_order"} if any(map(is_tapered, formats)) else set()
    needed = [_FP32, *formats, *(fmt for text in made for fmt in text.formats)]
    listing = [f"formats: {', '.join(fmt.name for fmt in formats)}"]
    if engines:
        listing.append(f"engines: {', '.join(engine.name for engine in engines)}")
    command = f"fp9 cmodel --name {name} --formats {_quoted(formats)}"
    command += f" --engines {_quoted(engines)}" if engines else ""
    return "".join(
        [
            opening(f"Number formats{' and accumulators' if engines else ''} in C", command, "\n".join(listing), name),
            shared(needed, parts),
            "\n",
            *map(_conversions, formats),
            *(text.functions for text in made),
            closing(name),
        ]
    )


def _quoted(rows: Sequence[Format | Engine]) -> str:
    return '"' + ",".join(row.name for row in rows) + '"'


def operand_formats(formats: Sequence[Format]) -> list[Format]:
    return [fmt for fmt in formats if fmt.signed and _fits(fmt)]


def _fits(fmt: Format) -> bool:
    try:
        check_exponents("", fmt)
    except ValueError:
        return False
    return True


def scale_formats(formats: Sequence[Format]) -> list[Format]:
    return [fmt for fmt in formats if not fmt.signed and not fmt.has_inf and fmt.bits <= 8]


def _conversions(fmt: Format) -> str:
    name = identifier(fmt)
    next_code = f"fp9_{name}_next(code, " if is_tapered(fmt) else f"fp9_next(fp9_{name}(), code, "
    words = {
        "name": name,
        "guard": name.upper(),
        "lowest": fmt.min_normal_exponent,
        "next": next_code,
        "threshold": _THRESHOLD if fmt.offers(Rounding.HYBRID) else "",
        "rounding": ROUNDINGS[fmt.default_rounding],
        "widened": OVERFLOWS[Overflow.INF],
    }
    return filled(_CONVERSIONS, words)


_THRESHOLD = """\
    if (p.rounding == FP9_HYBRID) { /* the threshold is the last 14 bits of the source */
        p.random = bits & 0x3FFF;
        p.random_bits = 14;
    }
"""

_CONVERSIONS = """\
#ifndef FP9_CONVERSIONS_@{guard}
#define FP9_CONVERSIONS_@{guard}
/* The FP32 number of a code, as bits. */
FP9_FN uint32_t fp9_@{name}_to_f32(uint32_t code)
{
    uint32_t flags;
    return fp9_fp32_encode(fp9_@{name}_decode(code), fp9_policy_of(FP9_RNE, @{widened}), &flags);
}

/* The code of an FP32 number, which is given as bits; one rounding, then the policies. */
FP9_FN uint32_t fp9_@{name}_from_f32(uint32_t bits, fp9_policy p, uint32_t *flags)
{
    fp9_number x = fp9_fp32_decode(bits);
    if (p.flush_source) x = fp9_flushed(x, -126);
@{threshold}\
    return fp9_@{name}_encode(x, p, flags);
}

FP9_FN int fp9_@{name}_class(uint32_t code)
{
    return fp9_class(fp9_@{name}_decode(code), @{lowest});
}

FP9_FN uint32_t fp9_@{name}_next_up(uint32_t code)
{
    return @{next}1);
}

FP9_FN uint32_t fp9_@{name}_next_down(uint32_t code)
{
    return @{next}-1);
}

#if !defined(FP9_NO_FLOAT) && !defined(__OPENCL_VERSION__)
#include <string.h>
FP9_FN float fp9_@{name}_to_float(uint32_t code)
{
    uint32_t bits = fp9_@{name}_to_f32(code);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The code of a float in the format's own rounding, saturated. */
FP9_FN uint32_t fp9_@{name}_from_float(float x)
{
    uint32_t bits, flags;
    memcpy(&bits, &x, sizeof bits);
    return fp9_@{name}_from_f32(bits, fp9_policy_of(@{rounding}, FP9_SATURATE), &flags);
}
#endif
#endif /* FP9_CONVERSIONS_@{guard} */

"""
