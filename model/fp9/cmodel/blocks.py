"""C functions that cast a block of numbers to a block format, and compute the scale of a whole tensor."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from fp9.cmodel.ranges import Weights, joined, weights
from fp9.cmodel.text import ROUNDINGS, filled, identifier
from fp9.formats import Format, fixed_format
from fp9.formats.blocks import BlockFormat, ScaleRule
from fp9.units import TENSOR_SCALE

_RECIPROCAL = fixed_format("bf16")
"""Format of reciprocals in scale rules that multiply by reciprocals."""


class BlockText(NamedTuple):
    """C source text of the functions for a block format."""

    functions: str
    formats: tuple[Format, ...]
    parts: tuple[str, ...]  # shared C files that the functions use


def block_text(block: BlockFormat, rules: Sequence[ScaleRule], name: str, source: Format) -> BlockText:
    """Return the C function `NAME_block`, which computes the codes of a block of numbers of the format `source`."""
    words = {
        "name": name,
        "scale": identifier(block.scale),
        "element": identifier(block.element),
        "rounding": ROUNDINGS[block.rounding],
        "short": identifier(_RECIPROCAL),
        "nan": f"0x{block.scale.nan_code(False):X}",
        "length": block.length,
        "rules": "\n".join(_rule(block, name, number, number == len(rules) - 1, r) for number, r in enumerate(rules)),
    }
    words["quotients"] = _levels(block, words) if block.levels else filled(_QUOTIENTS, words)
    tried = [_tried(block, words, source, rule) for rule in rules if rule.tries]
    before = [filled(_RECIPROCALS, words), *tried] if block.levels else tried
    functions = "".join([*before, filled(_SCALE, words), filled(_BLOCK, words)])
    formats = (source, block.scale, block.element, TENSOR_SCALE, *[_RECIPROCAL] * bool(block.levels))
    return BlockText(functions, formats, ("sums", "divide", *["wide"] * bool(tried)))


def tensor_scale_text(block: BlockFormat, name: str) -> str:
    quotients = [_parts(block.tensor_divisor(block.rule(rule))) for rule in block.rules]
    words = {
        "name": name,
        "divisors": ", ".join(str(significand) for significand, _ in quotients),
        "exponents": ", ".join(str(exponent) for _, exponent in quotients),
        "fp32": identifier(TENSOR_SCALE),
        "lowest": f"0x{1 << TENSOR_SCALE.fraction_bits:08X}",
    }
    return filled(_TENSOR_SCALE, words)


def _parts(number: Fraction) -> tuple[int, int]:
    """Return (m, e) for the number m * 2^e with an odd integer m."""
    top = number.numerator
    exponent = (top & -top).bit_length() - number.denominator.bit_length()
    return int(number / Fraction(2) ** exponent), exponent


_TENSOR_SCALE = """\
/* The FP32 code of the scale of a whole tensor whose largest magnitude is amax, by a scale rule. */
FP9_FN uint32_t @{name}_tensor_scale(fp9_number amax, int rule)
{
    const uint32_t divisor[] = {@{divisors}};
    const int exponent[] = {@{exponents}};
    fp9_number scale = {FP9_FINITE, 0, 0, 0, 1};
    uint32_t code, flags;
    if (amax.kind == FP9_FINITE) scale = fp9_quotient(amax, divisor[rule], exponent[rule], scale);
    code = fp9_@{fp32}_encode(scale, fp9_policy_of(FP9_RNE, FP9_SATURATE), &flags);
    return code < @{lowest} ? @{lowest} : code;
}

"""


def _tried(block: BlockFormat, words: dict[str, object], source: Format, rule: ScaleRule) -> str:
    first, second = map(int, rule.tries)
    products = weights([block.element]) + weights([block.scale]) + weights([TENSOR_SCALE])
    mixed = weights([source]) + products
    terms = joined([products + products, Weights(mixed.lowest, mixed.highest + 1)])
    own = {"first": first, "second": second, "limbs": terms.limbs(4 * block.length), "weight": terms.lowest}
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


def _rule(block: BlockFormat, name: str, number: int, last: bool, rule: ScaleRule) -> str:
    test = "" if last else f"if (rule == {number}) "
    if rule.tries:
        return f"    {test}return {name}_tried(number, amax, whole); /* {rule.name} */"
    amax = f"fp9_to_precision(amax, {block.element.precision})" if rule.amax_first else "amax"
    significand, exponent = _parts(block.divisor(rule))
    if rule.reciprocals:
        by = f"{significand}, {exponent}, {ROUNDINGS[rule.rounding]}"
        return f"    {test}return {name}_by_reciprocal(amax, {by}); /* {rule.name} */"
    quotient = f"fp9_quotient({amax}, {significand}, {exponent}, whole)"
    return (
        f"    {test}return fp9_{identifier(block.scale)}_encode({quotient},\n"
        f"        fp9_policy_of({ROUNDINGS[rule.rounding]}, FP9_SATURATE), &flags); /* {rule.name} */"
    )


_SCALE = """\
/* The code of the scale of a block whose largest magnitude is amax, over the scale of the whole array. */
FP9_FN uint32_t @{name}_scale(const fp9_number *number, fp9_number amax, fp9_number whole, int rule)
{
    uint32_t flags;
    (void)number;
    (void)whole;
    (void)rule;
    (void)flags;
    if (amax.kind == FP9_ZERO) return 0;
@{rules}
}

"""

_BLOCK = """\
/* The code of the block's scale. Writes the codes of the elements. `whole` is the scale of the whole array. */
FP9_FN uint32_t @{name}_block(const fp9_number *given, fp9_number whole, int rule, uint8_t *element)
{
    fp9_number number[@{length}], amax = {FP9_ZERO, 0, 0, 0, 0}, scale;
    uint32_t code, flags;
    int i, usable = whole.kind == FP9_FINITE;
    for (i = 0; i < @{length}; ++i) {
        number[i] = given[i];
        element[i] = 0;
        if (given[i].kind > FP9_FINITE) usable = 0;
        if (fp9_exceeds(given[i], amax)) amax = given[i];
    }
    if (!usable) return @{nan};
    amax.negative = 0;
    code = @{name}_scale(number, amax, whole, rule);
    scale = fp9_product(fp9_@{scale}_decode(code), whole);
@{quotients}\
    for (i = 0; i < @{length}; ++i)
        element[i] = (uint8_t)fp9_@{element}_encode(number[i], fp9_policy_of(@{rounding}, FP9_SATURATE), &flags);
    return code;
}

"""

_QUOTIENTS = """\
    for (i = 0; i < @{length}; ++i) {
        if (scale.kind == FP9_ZERO) number[i].kind = FP9_ZERO;
        if (number[i].kind == FP9_FINITE) number[i] = fp9_quotient(number[i], 1, 0, scale);
    }
"""


_RECIPROCALS = """\
FP9_FN fp9_number @{name}_rounded(fp9_number x)
{
    uint32_t flags;
    return fp9_@{short}_decode(fp9_@{short}_encode(x, fp9_policy_of(FP9_RNE, FP9_SATURATE), &flags));
}

/* x times the reciprocal of divisor * 2^exponent * y; the reciprocal is rounded to @{short}. */
FP9_FN fp9_number @{name}_divided(fp9_number x, uint32_t divisor, int exponent, fp9_number y)
{
    const fp9_number one = {FP9_FINITE, 0, 0, 0, 1};
    return fp9_product(x, @{name}_rounded(fp9_quotient(one, divisor, exponent, y)));
}

/* The code of the scale amax / (divisor * 2^exponent), computed with a reciprocal and rounded to @{short} first. */
FP9_FN uint32_t @{name}_by_reciprocal(fp9_number amax, uint32_t divisor, int exponent, int rounding)
{
    const fp9_number one = {FP9_FINITE, 0, 0, 0, 1};
    uint32_t flags;
    amax = @{name}_rounded(@{name}_divided(amax, divisor, exponent, one));
    return amax.kind == FP9_ZERO ? 0 : fp9_@{scale}_encode(amax, fp9_policy_of(rounding, FP9_SATURATE), &flags);
}

/* The level bits of a block: 1 for each group with a magnitude of 2^least or more, whose numbers are then halved. */
FP9_FN uint32_t @{name}_level(fp9_number *number, int group, int least)
{
    uint32_t bits = 0, set;
    int first, i;
    for (first = 0; first < @{length}; first += group) {
        set = 0;
        for (i = first; i < first + group; ++i)
            set |= number[i].kind == FP9_FINITE && number[i].exponent + fp9_bits(number[i].significand) > least;
        for (i = first; i < first + group; ++i) number[i].exponent -= (int)set;
        bits |= set << first / group;
    }
    return bits;
}

"""


def _levels(block: BlockFormat, words: dict[str, object]) -> str:
    """Return C statements that divide the numbers by the block scale, and add HiF4's level bits to the scale code."""
    # The level bits are above the bits of the block scale.
    texts, place = [filled(_BY_RECIPROCALS, words)], block.scale.bits
    for number, group in enumerate(block.levels):
        texts.append(f"    code |= {words['name']}_level(number, {group}, {len(block.levels) - number}) << {place};\n")
        place += block.length // group
    return "".join(texts)


_BY_RECIPROCALS = """\
    for (i = 0; i < @{length}; ++i) number[i] = @{name}_divided(number[i], 1, 0, scale);
"""
