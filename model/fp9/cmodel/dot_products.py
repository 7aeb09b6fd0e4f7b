"""C functions `fp9_ENGINE_step` and `fp9_ENGINE_dot`, for any number of products."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fp9.cmodel.dots import join_text
from fp9.cmodel.ranges import Weights, joined, weights
from fp9.cmodel.steps import addend_format, layout, nan_codes, step
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, comment, filled, identifier
from fp9.engines import Engine, Scaling
from fp9.formats import Format

MOST_PRODUCTS = 1 << 30
"""Largest number of products in an exact sum."""


@dataclass(frozen=True, slots=True)
class EngineText:
    """C functions of an engine. The functions use the formats `formats` and the source files `parts`."""

    functions: str
    formats: tuple[Format, ...]
    parts: tuple[str, ...]


def engine_text(engine: Engine, operands: Sequence[Format], scales: Sequence[Format]) -> EngineText:
    """Return the C functions of an engine for operands and scales in these formats.

    Raises ValueError for an engine with groups, zero_bypass or random bits, and if no format can be an operand.
    """
    _check(engine, operands)
    name = "fp9_" + re.sub("[^a-z0-9]+", "_", engine.name.lower().replace("=-", "_minus_")).strip("_")
    if any(name == f"fp9_{identifier(fmt)}" for fmt in operands):
        name += "_engine"
    terms = _terms(engine, operands, scales)
    formats = (engine.result.format, engine.output, addend_format(engine))
    if engine.step.exact:
        return EngineText(_exact(name, engine, terms), formats, ("sums", "wide"))
    made = step(name, engine.within_chunk, terms, engine.step.products)
    words = _words(name, engine)
    joins = engine.chunk.length is not None or engine.step.scaling is Scaling.SUMS
    text = made.text + "\n" + (join_text(name, engine) if joins else "")
    return EngineText(text + filled(_DOT, words), formats, (*made.parts, "sums"))


def _check(engine: Engine, operands: Sequence[Format]) -> None:
    refused = {
        "group": engine.step.group,
        "zero_bypass": engine.nan.zero_bypass,
        "rounding": engine.result.rounding.value if engine.result.rounding.needs_bits else None,
    }
    for field, value in refused.items():
        if value:
            raise ValueError(
                f"engine {engine.name}: {field}={value} given; the C functions of engines have no {field}: "
                "give a unit with this engine instead"
            )
    if not operands:
        raise ValueError(f"engine {engine.name} given without a format of its factors; give one, such as e4m3")


def _terms(engine: Engine, operands: Sequence[Format], scales: Sequence[Format]) -> Weights:
    sides = weights(operands)
    products = sides + sides
    if scales and (engine.step.scaling is Scaling.PRODUCTS or engine.step.exact):
        scale = weights(scales)
        products = joined([products, products + scale + scale])
    return products


def _words(name: str, engine: Engine) -> dict[str, object]:
    sums, addend = engine.step.scaling is Scaling.SUMS, identifier(addend_format(engine))
    joins = engine.chunk.length is not None or sums
    words = {
        "name": name,
        "says": comment(
            f"{engine.name}: c + the sum of count products a[k] * b[k], as a code of {engine.output.name}, with the "
            "flags of all roundings. With scales, scale[k / block] is the product of two scales; block is 0 "
            "without them."
        ).rstrip(),
        "products": engine.step.products,
        "output": identifier(engine.output),
        "addend": addend,
        "read": identifier(engine.within_chunk.output) if joins else addend,
        "nan": nan_codes(engine)[0],
        "chunk": engine.chunk.length or "count",
        "padded": engine.chunk.length if engine.chunk.interleave else "members",
        "place": _place(engine),
        "scaled": "" if sums else _SCALED,
        "total": ", total" if joins else "",
        "joins": "block != 0" if engine.chunk.length is None else "1",
    }
    words |= {
        "before": _BEFORE if joins else "",
        "after": filled(_AFTER, words | {"sums": _SUMS if sums else ""}) if joins else "",
    }
    return words | {"before": filled(str(words["before"]), words)}


def _place(engine: Engine) -> str:
    """Return the C expression for the index of term i of a step in its chunk."""
    run, steps = engine.chunk.interleave, engine.steps_of_chunk
    if run is None:
        return "k + i"
    return f"(i / {run} * {steps} + k / {engine.step.products}) * {run} + i % {run}"


_SCALED = """\
                if (block && place < members) term[i] = fp9_product(term[i], scale[(start + place) / block]);
"""

_BEFORE = """\
        total = addend;
        if (@{joins}) addend = zero;
"""

_SUMS = """\
            if (block) addend = fp9_product(addend, scale[start / block]);
"""

_AFTER = """\
        if (@{joins}) {
@{sums}\
            code = @{name}_join(addend, total, &raised);
            *flags |= raised;
            addend = fp9_@{addend}_decode(code);
        }
"""

_DOT = """\
@{says}
FP9_FN uint32_t @{name}_dot(
    const fp9_number *a, const fp9_number *b, const fp9_number *scale, int block, int count, uint32_t c,
    uint32_t *flags)
{
    fp9_number term[@{products}], addend = fp9_@{addend}_decode(c)@{total}, zero = {FP9_ZERO, 0, 0, 0, 0};
    uint32_t code = c, raised;
    int start, k, i;
    *flags = 0;
    if (count <= 0) { /* no products: the addend, cut to the result's format */
        code = fp9_@{output}_encode(addend, fp9_policy_of(FP9_RTZ, FP9_TO_INF), &raised);
        return addend.kind == FP9_NAN ? @{nan} : code;
    }
    for (start = 0; start < count; start += @{chunk}) {
        int members = count - start < @{chunk} ? count - start : @{chunk};
@{before}\
        for (k = 0; k < @{padded}; k += @{products}) {
            int size = @{padded} - k < @{products} ? @{padded} - k : @{products};
            for (i = 0; i < size; ++i) {
                int place = @{place};
                term[i] = place < members ? fp9_product(a[start + place], b[start + place]) : zero;
@{scaled}\
            }
            code = @{name}_step(term, size, addend, &raised);
            *flags |= raised;
            addend = fp9_@{read}_decode(code);
        }
@{after}\
    }
    (void)scale;
    (void)block;
    return code;
}

"""


def _exact(name: str, engine: Engine, terms: Weights) -> str:
    everything = joined([terms, weights([addend_format(engine)])])
    nan, invalid = nan_codes(engine)
    words = _words(name, engine) | {
        "weight": everything.lowest,
        "limbs": everything.limbs(MOST_PRODUCTS),
        "result": layout(engine),
        "rounding": ROUNDINGS[engine.result.rounding],
        "overflow": OVERFLOWS[engine.result.overflow],
        "nan": nan,
        "invalid": invalid,
        "flush": int(engine.result.flush),
        "flushed": f"    x = fp9_flushed(x, {engine.output.min_normal_exponent});\n"
        if engine.result.flush_addend
        else "",
    }
    return filled(_EXACT, words)


_EXACT = """\
@{says}
FP9_FN uint32_t @{name}_dot(
    const fp9_number *a, const fp9_number *b, const fp9_number *scale, int block, int count, uint32_t c,
    uint32_t *flags)
{
    uint64_t exact[@{limbs}] = {0}; /* in units of 2^@{weight} */
    fp9_layout f = fp9_@{result}();
    fp9_policy p = fp9_policy_of(@{rounding}, @{overflow});
    fp9_seen seen = {0, 0, 0, 0, 0};
    fp9_number x = fp9_@{addend}_decode(c);
    int k;
@{flushed}\
    fp9_see(&seen, x);
    if (x.kind == FP9_FINITE) fp9_wide_add(exact, @{limbs}, @{weight}, x);
    for (k = 0; k < count; ++k) {
        x = fp9_product(a[k], b[k]);
        if (block) x = fp9_product(x, scale[k / block]);
        fp9_see(&seen, x);
        if (x.kind == FP9_FINITE) fp9_wide_add(exact, @{limbs}, @{weight}, x);
    }
    if (fp9_is_special(seen)) return fp9_special_sum(f, seen, @{nan}, @{invalid}, flags);
    x = fp9_wide_number(exact, @{limbs}, @{weight});
    if (!x.significand) x = fp9_zero_sum(seen, p.rounding);
    return fp9_round_sum(f, x, p, @{nan}, @{flush}, flags);
}

"""
