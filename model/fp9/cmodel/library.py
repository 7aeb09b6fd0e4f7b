"""Generator of C headers that convert and classify codes, and compute dot products."""

from __future__ import annotations

from collections.abc import Sequence

from fp9.cmodel.blocks import BlockText, block_text, tensor_scale_text
from fp9.cmodel.dot_products import EngineText, engine_text
from fp9.cmodel.formats import is_tapered
from fp9.cmodel.headers import closing, opening, shared
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, filled, identifier
from fp9.engines import Engine, check_exponents
from fp9.formats import Format, fixed_format
from fp9.formats.blocks import BlockFormat
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import TENSOR_SCALE

_FP32 = fixed_format("fp32")


def library_header(
    formats: Sequence[Format],
    engines: Sequence[Engine] = (),
    name: str = "formats",
    blocks: Sequence[BlockFormat] = (),
) -> str:
    """Return the text of `fp9_NAME.h`, a C header for formats, block formats and accumulator models (engines).

    The dot products accept operands in the given formats, and in the element formats of `blocks`. Raises ValueError if
    `formats` and `blocks` are empty, or if an accumulator model has unsupported parameters.
    """
    if not formats and not blocks:
        raise ValueError("no formats given; give those of the operands, such as e4m3")
    named: list[Format | BlockFormat] = [*formats, *blocks]
    listing = [f"formats: {', '.join(fmt.name for fmt in named)}"]
    command = f"fp9 cmodel --name {name} --formats {_quoted(named)}"
    if engines:
        listing.append(f"engines: {', '.join(engine.name for engine in engines)}")
        command += f" --engines {_quoted(engines)}"
    formats = list(dict.fromkeys([*formats, *(fmt for block in blocks for fmt in (block.element, block.scale))]))
    made = [engine_text(engine, operand_formats(formats), scale_formats(formats)) for engine in engines]
    casts = [_block_cast(block) for block in blocks]
    texts: list[BlockText | EngineText] = [*casts, *made]
    parts = {"order", "flush", *(part for text in texts for part in text.parts)}
    parts |= {"hif8_order"} if any(map(is_tapered, formats)) else set()
    needed = [_FP32, *formats, *(fmt for text in texts for fmt in text.formats)]
    return "".join(
        [
            opening(f"Number formats{' and accumulators' if engines else ''} in C", command, "\n".join(listing), name),
            shared(needed, parts),
            "\n",
            *map(_conversions, formats),
            *(text.functions for text in texts),
            closing(name),
        ]
    )


def _block_cast(block: BlockFormat) -> BlockText:
    name = f"fp9_{identifier(block)}"
    text = block_text(block, [block.rule(rule) for rule in block.rules], name, TENSOR_SCALE)
    words = {
        "name": name,
        "guard": name.upper(),
        "says": f"{block.name}: {block.length} elements in {block.element.name} share a scale in {block.scale.name}.",
        "rules": ", ".join(f"{name}_{rule}".upper() for rule in block.rules),
        "length": block.length,
        "functions": text.functions + (tensor_scale_text(block, name) if block.tensor else ""),
    }
    return text._replace(functions=filled(_BLOCK_CAST, words))


_BLOCK_CAST = """\
#ifndef @{guard}_BLOCKS
#define @{guard}_BLOCKS
/* @{says} */
enum { @{rules} }; /* rules for scales */

@{functions}\
/* Quantises @{length} FP32 numbers, which are given as bits, and returns the code of the scale.
   `tensor_scale` is the scale of the whole tensor as FP32 bits: 0x3F800000 (1) without such a scale. */
FP9_FN uint32_t @{name}_quantise(const uint32_t *x, uint32_t tensor_scale, int rule, uint8_t *element)
{
    fp9_number number[@{length}];
    int i;
    for (i = 0; i < @{length}; ++i) number[i] = fp9_fp32_decode(x[i]);
    return @{name}_block(number, fp9_fp32_decode(tensor_scale), rule, element);
}
#endif

"""


def _quoted(rows: Sequence[Format | BlockFormat | Engine]) -> str:
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
