"""C models of quantisers, which compute a block's scale and elements."""

from __future__ import annotations

from fp9.cmodel.model_text import ModelText
from fp9.cmodel.ranges import Weights, joined, weights
from fp9.cmodel.text import ROUNDINGS, filled, identifier, listed
from fp9.formats import floor_log2
from fp9.formats.blocks import Divisor, ScaleRule
from fp9.units import TENSOR_SCALE, Quantiser


def quantiser(unit: Quantiser) -> ModelText:
    # One call of the C model computes a whole block, even if the block takes several operations of the unit.
    block, lanes = unit.block, unit.width
    words = {
        "name": unit.name,
        "source": identifier(unit.source),
        "scale": identifier(block.scale),
        "element": identifier(block.element),
        "rounding": ROUNDINGS[block.rounding],
        "nan": f"0x{block.scale.nan_code(False):X}",
        "length": block.length,
        "lanes": lanes,
        "group": unit.group,
        "tensor": _tensor(unit),
        "rules": "\n".join(_rule(unit, number, rule) for number, rule in enumerate(unit.rules)),
        "rule": f"in[{unit.group - 1}].rule" if len(unit.rules) > 1 else "0",
        "x": listed((f"in[i].{x}" for x in unit.lane_names("x")), 12),
        "lowest": block.element.precision - 1,
        "stores": "\n".join(
            f"        out[i].{name} = element[i * {lanes} + {place}];"
            for place, name in enumerate(unit.lane_names("element"))
        ),
    }
    formats = (unit.source, block.scale, block.element, TENSOR_SCALE)
    tried = [_tried(unit, words, rule) for rule in unit.rules if rule.tries]
    parts = ("sums", "divide", *["wide"] * bool(tried))
    functions = "".join(tried) + filled(_SCALE, words)
    return ModelText(formats, parts, functions, filled(_BLOCK, words), group=unit.group)


def _tried(unit: Quantiser, words: dict[str, object], rule: ScaleRule) -> str:
    first, second = map(int, rule.tries)
    products = weights([unit.block.element]) + weights([unit.block.scale]) + weights([TENSOR_SCALE])
    mixed = weights([unit.source]) + products
    terms = joined([products + products, Weights(mixed.lowest, mixed.highest + 1)])
    own = {"first": first, "second": second, "limbs": terms.limbs(4 * unit.block.length), "weight": terms.lowest}
    return filled(_TRIED, words | own | {"scaling": ROUNDINGS[rule.rounding]})


_TRIED = """\
/* The scale with one of two divisors whose elements have the smaller sum of squared errors; the first if equal. */
FP9_FN uint32_t @{name}_tried(const fp9_number *number, fp9_number amax, fp9_number whole)
{
    const uint32_t divisor[2] = {@{first}, @{second}};
    uint64_t excess[@{limbs}] = {0}; /* the first sum less the second; squares of the numbers cancel */
    uint32_t code[2], flags;
    int turn, i;
    for (turn = 0; turn < 2; ++turn) {
        fp9_number scale, x, y;
        code[turn] = fp9_@{scale}_encode(fp9_quotient(amax, divisor[turn], 0, whole),
            fp9_policy_of(@{scaling}, FP9_SATURATE), &flags);
        scale = fp9_product(fp9_@{scale}_decode(code[turn]), whole);
        for (i = 0; i < @{length} && scale.kind == FP9_FINITE; ++i) {
            x = number[i];
            if (x.kind != FP9_FINITE) continue;
            x.negative = 0;
            y = fp9_quotient(x, 1, 0, scale);
            y = fp9_@{element}_decode(fp9_@{element}_encode(y, fp9_policy_of(@{rounding}, FP9_SATURATE), &flags));
            y = fp9_product(y, scale);
            if (y.kind != FP9_FINITE) continue;
            x = fp9_product(x, y);
            x.exponent += 1;
            x.negative = !turn;
            fp9_wide_add(excess, @{limbs}, @{weight}, x);
            y = fp9_product(y, y);
            y.negative = turn;
            fp9_wide_add(excess, @{limbs}, @{weight}, y);
        }
    }
    amax = fp9_wide_number(excess, @{limbs}, @{weight});
    return code[amax.kind == FP9_FINITE && !amax.negative];
}

"""


def _tensor(unit: Quantiser) -> str:
    if not unit.block.tensor:
        return ""
    return filled(_TENSOR, {"last": unit.group - 1, "lowest": TENSOR_SCALE.min_normal_exponent})


_TENSOR = """\
    whole = fp9_fp32_decode(in[@{last}].tensor);
    usable = whole.kind == FP9_FINITE && !whole.negative && whole.exponent + fp9_bits(whole.significand) > @{lowest};
"""


def _rule(unit: Quantiser, number: int, rule: ScaleRule) -> str:
    test = "" if number == len(unit.rules) - 1 else f"if (rule == {number}) "
    if rule.tries:
        return f"    {test}return {unit.name}_tried(number, amax, whole); /* {rule.name} */"
    amax = f"fp9_to_precision(amax, {unit.block.element.precision})" if rule.amax_first else "amax"
    largest = unit.block.largest
    if rule.divisor is Divisor.POWER:
        significand, exponent = 1, floor_log2(largest)
    else:
        exponent = floor_log2(largest) - unit.block.element.precision + 1
        significand = int(largest / 2**exponent) if exponent >= 0 else int(largest * 2**-exponent)
    return (
        f"    {test}return fp9_{identifier(unit.block.scale)}_encode("
        f"fp9_quotient({amax}, {significand}, {exponent}, whole),\n"
        f"        fp9_policy_of({ROUNDINGS[rule.rounding]}, FP9_SATURATE), &flags); /* {rule.name} */"
    )


_SCALE = """\
/* The code of the scale of a block whose largest magnitude is amax, over the scale of the whole array. */
FP9_FN uint32_t @{name}_scale(const fp9_number *number, fp9_number amax, fp9_number whole, int rule)
{
    uint32_t flags;
    (void)number;
    (void)rule;
    (void)flags;
    if (amax.kind == FP9_ZERO) return 0;
@{rules}
}

"""

_BLOCK = """\
    fp9_number number[@{length}], amax = {FP9_ZERO, 0, 0, 0, 0}, whole = {FP9_FINITE, 0, 0, 0, 1}, scale;
    uint32_t code = @{nan}, flags;
    uint8_t element[@{length}];
    int i, j, usable = 1;
@{tensor}\
    for (i = 0; i < @{group}; ++i) {
        const uint32_t x[@{lanes}] = {
            @{x}};
        for (j = 0; j < @{lanes}; ++j) number[i * @{lanes} + j] = fp9_@{source}_decode(x[j]);
    }
    for (i = 0; i < @{length}; ++i) {
        if (number[i].kind > FP9_FINITE) usable = 0;
        if (fp9_exceeds(number[i], amax)) amax = number[i];
    }
    amax.negative = 0;
    if (usable) code = @{name}_scale(number, amax, whole, @{rule});
    scale = fp9_product(fp9_@{scale}_decode(code), whole);
    for (i = 0; i < @{length}; ++i) {
        element[i] = 0;
        if (!usable) continue;
        if (scale.kind == FP9_ZERO) number[i].kind = FP9_ZERO;
        if (number[i].kind == FP9_FINITE) number[i] = fp9_quotient(number[i], 1, 0, scale);
        element[i] = (uint8_t)fp9_@{element}_encode(number[i], fp9_policy_of(@{rounding}, FP9_SATURATE), &flags);
    }
    for (i = 0; i < @{group}; ++i) {
        out[i].scale = (uint8_t)code;
@{stores}
    }
"""
