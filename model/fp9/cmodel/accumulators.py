"""C model of the unit `mac`, which has an accumulator register."""

from __future__ import annotations

from fp9.cmodel.dots import count_of, flag_lines, join_text, model, step_text, term_lines, type_of
from fp9.cmodel.model_text import ModelText
from fp9.cmodel.steps import addend_format, layout, nan_codes
from fp9.cmodel.text import OVERFLOWS, ROUNDINGS, filled, identifier
from fp9.engines import MacOp
from fp9.units import Mac, product_range


def mac(unit: Mac) -> ModelText:
    if unit.engine.step.exact:
        return _kulisch(unit)
    return _chunked(unit) if unit.chunk_steps else _fed_back(unit)


def _operation(unit: Mac, op: MacOp) -> int:
    return unit.operations.index(op)


def _fed_back(unit: Mac) -> ModelText:
    functions, parts = step_text(unit, unit.name, unit.engine)
    words = _mac_words(unit)
    lines = [*term_lines(unit), *filled(_FED_BACK, words).splitlines(), *flag_lines(unit, "flags")]
    return model(unit, functions, parts, lines, _TOTAL, "    state->total = 0;\n")


def _mac_words(unit: Mac) -> dict[str, object]:
    return {
        "name": unit.name,
        "addend": identifier(addend_format(unit.engine)),
        "result": identifier(unit.engine.result.format),
        "type": type_of(unit.engine.output),
        "products": count_of(unit),
        "steps": unit.chunk_steps,
        "last": len(unit.operations) - 1,
    } | {op.name.lower(): _operation(unit, op) for op in unit.operations}


_TOTAL = "    uint32_t total; /* the accumulator */\n"

_FED_BACK = """\
    fp9_number c = fp9_@{addend}_decode(in->op == @{load} ? in->c : state->total);
    uint32_t flags = 0;
    if (in->op == @{clear}) state->total = 0;
    if (in->op <= @{load}) state->total = @{name}_step(term, @{products}, c, &flags);
    out->result = (@{type})state->total;
"""


def _chunked(unit: Mac) -> ModelText:
    functions, parts = step_text(unit, unit.name, unit.engine.within_chunk)
    functions += join_text(unit.name, unit.engine)
    lines = [*term_lines(unit), *filled(_CHUNKED, _mac_words(unit)).splitlines(), *flag_lines(unit, "flags")]
    state = f"{_TOTAL}    uint32_t chunk;  /* the open chunk */\n    uint32_t filled; /* steps in it */\n"
    return model(
        unit, functions, (*parts, "add"), lines, state, "    state->total = state->chunk = state->filled = 0;\n"
    )


_CHUNKED = """\
    uint32_t flags = 0, joined = 0;
    int op = in->op > @{last} ? @{last} : in->op;
    if (op == @{load} || op == @{clear}) {
        state->chunk = state->filled = 0;
        state->total = op == @{load} ? in->c : 0;
    }
    if (op == @{load} || op == @{accumulate}) {
        state->chunk = @{name}_step(term, @{products}, fp9_@{result}_decode(state->chunk), &flags);
        state->filled++;
    }
    if (state->filled == @{steps} || (op == @{fold} && state->filled)) {
        state->total = @{name}_join(fp9_@{result}_decode(state->chunk), fp9_@{addend}_decode(state->total), &joined);
        state->chunk = state->filled = 0;
        flags |= joined;
    }
    out->result = (@{type})state->total;
"""


def _kulisch(unit: Mac) -> ModelText:
    engine = unit.engine
    lowest = product_range(unit.a, unit.b, unit.bias_port).ulp
    limbs, spare = -(-unit.sum_bits // 64), -unit.sum_bits % 64
    nan, invalid = nan_codes(engine)
    words = _mac_words(unit) | {
        "limbs": limbs,
        "weight": lowest,
        "rounding": ROUNDINGS[engine.result.rounding],
        "overflow": OVERFLOWS[engine.result.overflow],
        "result": layout(engine),
        "nan": nan,
        "invalid": invalid,
        "flush": int(engine.result.flush),
        "wrap": filled(_WRAP, {"top": limbs - 1, "sign": f"0x{1 << (63 - spare):X}"}) if spare else "",
        "bits": unit.sum_bits,
    }
    lines = [*term_lines(unit), *filled(_EXACT, words).splitlines(), *flag_lines(unit, "flags")]
    state = (
        f"    uint64_t sum[{limbs}]; /* the exact sum, {unit.sum_bits} bits in units of 2^{lowest} */\n"
        "    fp9_seen seen;   /* kinds of its terms */\n"
    )
    return model(unit, "", ("sums", "wide"), lines, state, _exact_reset(limbs))


def _exact_reset(limbs: int) -> str:
    return filled(_EXACT_RESET, {"limbs": limbs})


_EXACT_RESET = """\
    fp9_seen none = {0, 0, 0, 0, 1}; /* a sum starts from one +0 */
    int word;
    for (word = 0; word < @{limbs}; ++word) state->sum[word] = 0;
    state->seen = none;
"""

_WRAP = """\
    /* a sum that overflows the register wraps around */
    state->sum[@{top}] = ((state->sum[@{top}] & (2 * (uint64_t)@{sign} - 1)) ^ @{sign}) - @{sign};
"""

_EXACT = """\
    fp9_layout f = fp9_@{result}();
    fp9_policy p = fp9_policy_of(@{rounding}, @{overflow});
    uint32_t flags = 0;
    fp9_number sum;
    if (in->op == @{load} || in->op == @{clear}) @{name}_reset(state);
    for (i = 0; i < @{products} && in->op <= @{load}; ++i) {
        fp9_see(&state->seen, term[i]);
        if (term[i].significand) fp9_wide_add(state->sum, @{limbs}, @{weight}, term[i]);
    }
@{wrap}\
    if (fp9_is_special(state->seen)) {
        out->result = (@{type})fp9_special_sum(f, state->seen, @{nan}, @{invalid}, &flags);
    } else {
        sum = fp9_wide_number(state->sum, @{limbs}, @{weight});
        if (!sum.significand) sum = fp9_zero_sum(state->seen, p.rounding);
        out->result = (@{type})fp9_round_sum(f, sum, p, @{nan}, @{flush}, &flags);
    }
"""
