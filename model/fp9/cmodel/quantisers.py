"""C models of quantisers: the scale of a block, and its elements."""

from __future__ import annotations

from fp9.cmodel.model_text import ModelText
from fp9.cmodel.text import ROUNDINGS, filled, identifier, listed
from fp9.formats import floor_log2
from fp9.scaling import Divisor, ScaleRule
from fp9.units import TENSOR_SCALE, Quantiser


def quantiser(unit: Quantiser) -> ModelText:
    """A block of numbers; where it comes in several operations, all of them at once.

    Raises ValueError for a rule that tries several divisors.
    """
    tried = next((rule.name for rule in unit.rules if rule.tries), None)
    if tried is not None:
        raise ValueError(f"{unit.name}: rule {tried} given; the C model has no rules that try divisors: leave it out")
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
    return ModelText(formats, ("sums", "divide"), filled(_SCALE, words), filled(_BLOCK, words), group=unit.group)


def _tensor(unit: Quantiser) -> str:
    if not unit.block.tensor:
        return ""
    return filled(_TENSOR, {"last": unit.group - 1, "lowest": TENSOR_SCALE.min_normal_exponent})


_TENSOR = """\
    whole = fp9_fp32_decode(in[@{last}].tensor);
    usable = whole.kind == FP9_FINITE && !whole.negative && whole.exponent + fp9_bits(whole.significand) > @{lowest};
"""


def _rule(unit: Quantiser, number: int, rule: ScaleRule) -> str:
    """The branch of a scale rule: amax over the rule's divisor, rounded once."""
    test = "" if number == len(unit.rules) - 1 else f"if (rule == {number}) "
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
FP9_FN uint32_t @{name}_scale(fp9_number amax, fp9_number whole, int rule)
{
    uint32_t flags;
    (void)rule;
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
    if (usable) code = @{name}_scale(amax, whole, @{rule});
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
