"""Generator of an accumulator model's C functions `fp9_ENGINE_step` and `fp9_ENGINE_dot`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fp9.cmodel.dots import join_text
from fp9.cmodel.ranges import Weights, joined, weights
from fp9.cmodel.steps import addend_format, layout, nan_codes, step
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, comment, filled, identifier
from fp9.engines import Engine, Scaling, check_grouped
from fp9.formats import Format

MOST_PRODUCTS = 1 << 30


@dataclass(frozen=True, slots=True)
class EngineText:
    """C source text of the functions for an accumulator model."""

    functions: str
    formats: tuple[Format, ...]
    parts: tuple[str, ...]  # shared C files that the functions use


class Operands(NamedTuple):
    """C parameters that pass the operands of a dot product."""

    parameters: str
    element: Callable[[str, str], str]  # C expression for the element of side "a" or "b" at an index


NUMBERS = Operands("const fp9_number *a, const fp9_number *b", lambda side, index: f"{side}[{index}]")


def engine_text(
    engine: Engine,
    operands: Sequence[Format],
    scales: Sequence[Format],
    observer: str = "",
    given: Operands = NUMBERS,
) -> EngineText:
    """Return the C functions of an accumulator model for the given operand and scale formats."""
    operands = [fmt for fmt in operands if takes(engine, fmt)]
    _check(engine, operands)
    name = function_name(engine, operands)
    terms = _terms(engine, operands, scales)
    formats = (engine.result.format, engine.output, addend_format(engine))
    if engine.step.exact:
        return EngineText(_exact(name, engine, terms, given), formats, ("sums", "wide"))
    made = step(name, _of_terms(engine.within_chunk), terms, engine.step.products)
    words = _words(name, engine, given) | _observed(name, engine, observer)
    words |= {
        "terms": filled(_GROUPS if engine.step.group else _TERMS, words | {"lowest": 2 * weights(operands).lowest})
    }
    joins = engine.chunk.length is not None or engine.step.scaling is Scaling.SUMS
    text = made.text + "\n" + (join_text(name, engine) if joins else "")
    parts = (*made.parts, "sums", *["groups"] * bool(engine.step.group), *["add"] * joins)
    words |= {"after": filled(str(words["after"]), words)}
    return EngineText(text + filled(_DOT, words), formats, parts)


def function_name(engine: Engine, operands: Sequence[Format]) -> str:
    name = "fp9_" + re.sub("[^a-z0-9]+", "_", engine.name.lower().replace("=-", "_minus_")).strip("_")
    return name + "_engine" * any(name == f"fp9_{identifier(fmt)}" for fmt in operands)


def takes(engine: Engine, fmt: Format) -> bool:
    if engine.step.group is None:
        return True
    try:
        check_grouped(engine, fmt, fmt)
    except ValueError:
        return False
    return True


def _of_terms(engine: Engine) -> Engine:
    # An equal accumulator model that counts each group of products as one product.
    if engine.step.group is None:
        return engine
    return engine.changed(products=engine.step.products // engine.step.group, group=None)


def _check(engine: Engine, operands: Sequence[Format]) -> None:
    refused = {
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
        one = "e2m1" if engine.step.group else "e4m3"
        raise ValueError(f"engine {engine.name} given without a format of its factors; give one, such as {one}")


def _terms(engine: Engine, operands: Sequence[Format], scales: Sequence[Format]) -> Weights:
    sides = weights(operands)
    products = sides + sides
    if scales and (engine.step.scaling is Scaling.PRODUCTS or engine.step.exact):
        scale = weights(scales)
        products = joined([products, products + scale + scale])
    return products


def _words(name: str, engine: Engine, given: Operands) -> dict[str, object]:
    sums, addend = engine.step.scaling is Scaling.SUMS, identifier(addend_format(engine))
    joins = engine.chunk.length is not None or sums
    words = {
        "name": name,
        "given": given.parameters,
        "term": _product(given, "start + place"),
        "member": _product(given, "start + member"),
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
        "group": engine.step.group,
        "scaled": "" if sums else _SCALED,
        "total": ", total" if joins else "",
        "zero": ", zero = {FP9_ZERO, 0, 0, 0, 0}" if joins or engine.step.group is None else "",
        "joins": "block != 0" if engine.chunk.length is None else "1",
    }
    return words | {
        "before": filled(_BEFORE, words) if joins else "",
        "after": _AFTER if joins else "",
        "sums": _SUMS if sums else "",
    }


def _product(given: Operands, index: str) -> str:
    return f"fp9_product({given.element('a', index)}, {given.element('b', index)})"


def _observed(name: str, engine: Engine, observer: str) -> dict[str, object]:
    if not observer:
        return {"observed": "", "observed_join": ""}
    # The C code calls the observer after each rounding. The first argument is 1 if the rounding adds a chunk's sum to
    # the total.
    addend = "addend"
    if engine.within_chunk.result.flush_addend:
        addend = f"fp9_flushed(addend, {engine.within_chunk.output.min_normal_exponent})"
    return {
        "observed": f"            {observer}(0, term, size, {addend}, code);\n",
        "observed_join": f"            {observer}(1, &addend, 1, total, code);\n",
    }


def _place(engine: Engine) -> str:
    # A C expression for a term's index in the chunk, where i is the term's index in the step.
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
@{observed_join}\
            addend = fp9_@{addend}_decode(code);
        }
"""

_TERMS = """\
            for (i = 0; i < size; ++i) {
                int place = @{place};
                term[i] = place < members ? @{term} : zero;
@{scaled}\
            }
"""

_GROUPS = """\
            for (i = 0; i < size; i += @{group}) { /* a term for each group of products */
                const fp9_number one = {FP9_FINITE, 0, 0, 0, 1};
                int64_t sum = 0;
                int member, zeros = 1, dropped = 0;
                for (member = k + i; member < k + size && member < k + i + @{group}; ++member) {
                    fp9_number x = @{member};
                    zeros &= x.kind == FP9_ZERO;
                    sum += fp9_align(x, @{lowest}, FP9_CUT_ZERO, &dropped);
                }
                term[i / @{group}] = fp9_group(sum, @{lowest}, zeros, block ? scale[(start + k + i) / block] : one);
            }
            size = (size + @{group} - 1) / @{group};
"""

_DOT = """\
@{says}
FP9_FN uint32_t @{name}_dot(
    @{given}, const fp9_number *scale, int block, int count, uint32_t c,
    uint32_t *flags)
{
    fp9_number term[@{products}], addend = fp9_@{addend}_decode(c)@{total}@{zero};
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
@{terms}\
            code = @{name}_step(term, size, addend, &raised);
            *flags |= raised;
@{observed}\
            addend = fp9_@{read}_decode(code);
        }
@{after}\
    }
    (void)scale;
    (void)block;
    return code;
}

"""


def _exact(name: str, engine: Engine, terms: Weights, given: Operands) -> str:
    everything = joined([terms, weights([addend_format(engine)])])
    nan, invalid = nan_codes(engine)
    words = _words(name, engine, given) | {
        "term": _product(given, "k"),
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
    @{given}, const fp9_number *scale, int block, int count, uint32_t c,
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
        x = @{term};
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
